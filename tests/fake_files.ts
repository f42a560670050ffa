/**
 * A file system in memory for tests of the disk cache: it fails, damages and loses what it is told to.
 *
 * @module
 */
import type { Files, FolderEntry } from "../engine/disk_cache/files.ts";

/** What happens to a file that is read or written. */
export type FileFault =
  | "error"
  | "gone"
  | "shorter"
  | "flipped"
  | "another's"
  /** The process is killed in the middle of writing: what it had written stays. */
  | "killed"
  /** The power fails after writing: the name is there, and no more than a part of the contents. */
  | "torn";

/** An error as the operating system's. */
export function systemError(code: string): Error {
  return Object.assign(new Error(`${code} (os error)`), { code });
}

interface FakeFile {
  bytes: Uint8Array;
  modified: number;
}

/** Everything takes microtasks alone, so that what happens is the same for the same seed. */
export class FakeFiles implements Files {
  readonly files = new Map<string, FakeFile>();
  readonly folders = new Set<string>();
  /** Asked before a file is read or written. */
  fault: (operation: "read" | "write", path: string) => FileFault | undefined = () => undefined;
  /** A number below another, for which byte or bit it is. */
  below: (n: number) => number = () => 0;

  async read(path: string, parts: readonly Uint8Array[]): Promise<number> {
    await undefined;
    const fault = this.fault("read", path);
    if (fault === "error") throw systemError("EIO");
    if (fault === "gone") this.files.delete(path);
    let { bytes } = this.file(path);
    if (fault === "shorter") bytes = bytes.subarray(0, this.below(bytes.length));
    if (fault === "flipped") {
      bytes = bytes.slice();
      bytes[this.below(bytes.length)] ^= 1 << this.below(8);
    }
    if (fault === "another's") {
      const others = [...this.files.values()];
      bytes = others[this.below(others.length)].bytes;
    }
    let total = 0;
    for (const part of parts) {
      const own = bytes.subarray(total, total + part.length);
      part.set(own);
      total += own.length;
      // In the middle of it others have their turn.
      await undefined;
    }
    return total;
  }

  async write(path: string, parts: readonly Uint8Array[], modified: number): Promise<void> {
    await undefined;
    const fault = this.fault("write", path);
    if (fault === "error") throw systemError("ENOSPC");
    if (this.files.has(path)) throw systemError("EEXIST");
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let total = 0;
    for (const part of parts) {
      bytes.set(part, total);
      total += part.length;
      await undefined;
    }
    if (fault === "torn") bytes.fill(0, this.below(bytes.length));
    if (fault !== "killed") this.files.set(path, { bytes, modified });
    else {
      this.files.set(path, { bytes: bytes.subarray(0, this.below(total)), modified });
      throw systemError("EIO");
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await undefined;
    const file = this.file(from);
    this.files.delete(from);
    this.files.set(to, file);
  }

  async remove(path: string): Promise<void> {
    await undefined;
    this.file(path);
    this.files.delete(path);
  }

  async touch(path: string, modified: number): Promise<void> {
    await undefined;
    this.file(path).modified = modified;
  }

  async stat(path: string): Promise<{ bytes: number; modified: number } | undefined> {
    await undefined;
    const file = this.files.get(path);
    return file && { bytes: file.bytes.length, modified: file.modified };
  }

  async list(folder: string): Promise<FolderEntry[]> {
    await undefined;
    if (!this.folders.has(folder)) throw new Deno.errors.NotFound(folder);
    const own = (path: string) =>
      path.startsWith(folder + "/") && !path.slice(folder.length + 1).includes("/");
    const entry = (path: string, isFolder: boolean) => ({
      name: path.slice(folder.length + 1),
      isFolder,
      isFile: !isFolder,
    });
    return [
      ...[...this.folders].filter(own).map((path) => entry(path, true)),
      ...[...this.files.keys()].filter(own).map((path) => entry(path, false)),
    ];
  }

  async makeFolder(path: string): Promise<void> {
    await undefined;
    for (let end = path.length; end > 0; end = path.lastIndexOf("/", end - 1)) {
      this.folders.add(path.slice(0, end));
    }
  }

  private file(path: string): FakeFile {
    const file = this.files.get(path);
    if (file === undefined) throw new Deno.errors.NotFound(path);
    return file;
  }
}
