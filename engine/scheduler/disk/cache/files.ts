/** What a folder has in it. */
export interface FolderEntry {
  readonly name: string;
  readonly isFolder: boolean;
  readonly isFile: boolean;
}

/** What the disk cache needs of a file system; each call fails as the operating system's does. */
export interface Files {
  /** Fills parts from a file's start on. Returns how many bytes there were, fewer at the file's end. */
  read(path: string, parts: readonly Uint8Array[]): Promise<number>;
  /** Writes a file that was not there before, readable by its owner alone, of a time in milliseconds since 1970. */
  write(path: string, parts: readonly Uint8Array[], modified: number): Promise<void>;
  /** Gives a file another name; one that has it already is replaced. */
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Sets when a file was last used, in milliseconds since 1970. */
  touch(path: string, modified: number): Promise<void>;
  /** The size in bytes of a file and when it was last used; undefined where it is gone. */
  stat(path: string): Promise<{ readonly bytes: number; readonly modified: number } | undefined>;
  list(folder: string): Promise<FolderEntry[]>;
  /** Makes a folder and those above it, open to its owner alone. An existing one stays as it is. */
  makeFolder(path: string): Promise<void>;
}

/** The system's own. */
export const SYSTEM_FILES: Files = {
  async read(path, parts) {
    using file = await Deno.open(path, { read: true });
    let total = 0;
    for (const part of parts) {
      for (let filled = 0; filled < part.length;) {
        const count = await file.read(part.subarray(filled));
        if (count === null || count === 0) return total;
        filled += count;
        total += count;
      }
    }
    return total;
  },

  async write(path, parts, modified) {
    using file = await Deno.open(path, { write: true, createNew: true, mode: 0o600 });
    for (const part of parts) {
      for (let done = 0; done < part.length;) done += await file.write(part.subarray(done));
    }
    const time = new Date(modified);
    await file.utime(time, time);
  },

  rename: (from, to) => Deno.rename(from, to),
  remove: (path) => Deno.remove(path),

  async touch(path, modified) {
    const time = new Date(modified);
    await Deno.utime(path, time, time);
  },

  async stat(path) {
    try {
      const { size, mtime } = await Deno.lstat(path);
      return { bytes: size, modified: mtime?.getTime() ?? 0 };
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  },

  async list(folder) {
    const entries: FolderEntry[] = [];
    for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
      entries.push({ name, isFolder: isDirectory, isFile });
    }
    return entries;
  },

  makeFolder: (path) => Deno.mkdir(path, { recursive: true, mode: 0o700 }),
};
