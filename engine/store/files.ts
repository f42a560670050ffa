/** Looking at files and folders that need not be there, or be what they should. */
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";

/**
 * Waits for work with files.
 *
 * @param sentence What cannot be done, given the reason.
 * @throws {M40Error} `io` with that sentence where it fails.
 */
export async function withReason<T>(
  work: Promise<T>,
  sentence: (reason: string) => string,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new M40Error("io", sentence(systemReason(error)));
  }
}

/** The length of the file at a path in bytes; undefined where there is no file. */
export async function fileBytes(path: string): Promise<number | undefined> {
  const info = await stat(path);
  return info?.isFile ? info.size : undefined;
}

/** What is at a path, behind links; undefined where there is nothing. */
export async function stat(path: string): Promise<Deno.FileInfo | undefined> {
  if (path === "" || path.includes("\0")) return undefined;
  try {
    return await Deno.stat(path);
  } catch (error) {
    // What cannot be looked at is not there for us; ENAMETOOLONG and ELOOP come as plain errors.
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new M40Error("io", `${path}: cannot be read: ${systemReason(error)}`);
    }
    return undefined;
  }
}

/** The entries of a folder, sorted by name; none where it does not exist. */
export async function entries(folder: string): Promise<Deno.DirEntry[]> {
  const found: Deno.DirEntry[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) found.push(entry);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return found.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}

/**
 * The entries of a folder that others may write to: up to that many, and none where it cannot be read.
 *
 * @param kind Which entries; links are none of them.
 */
export async function foreignEntries(
  folder: string,
  kind: "folders" | "files" | "all",
  limit: number,
): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(folder)) {
      if (kind === "folders" && !entry.isDirectory || kind === "files" && !entry.isFile) continue;
      names.push(entry.name);
      if (names.length >= limit) break;
    }
  } catch {
    return [];
  }
  return names.sort();
}

/** Makes a folder, and those that it is in. */
export async function makeFolder(path: string): Promise<void> {
  await withReason(
    Deno.mkdir(path, { recursive: true }),
    (reason) => `${path} cannot be made: ${reason}.`,
  );
}

/** Removes a file, where there is one. */
export async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Fills `into` with what is next in a file; returns how many bytes there were. */
export async function fill(file: Deno.FsFile, into: Uint8Array): Promise<number> {
  let filled = 0;
  while (filled < into.length) {
    const count = await file.read(into.subarray(filled));
    if (count === null) break;
    filled += count;
  }
  return filled;
}

/** The text of a regular file, no link, of at most that many bytes. */
export async function readSmallText(path: string, maxBytes: number): Promise<string> {
  // Before it is opened: opening a pipe would wait for its other end.
  const info = await Deno.lstat(path);
  if (!info.isFile) throw new Error(info.isSymlink ? "it is a link" : "it is not a file");
  return await readText(path, info.size, maxBytes);
}

/** The text of a file of that many bytes. */
export async function readText(path: string, bytes: number, maxBytes: number): Promise<string> {
  if (bytes > maxBytes) throw new Error(`it has ${bytes} bytes, and ${maxBytes} are the most`);
  using file = await Deno.open(path, { read: true });
  const buffer = new Uint8Array(bytes + 1);
  const length = await fill(file, buffer);
  if (length > bytes) throw new Error("it grew while it was read");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
  } catch {
    throw new Error("it is not UTF-8");
  }
}
