/**
 * A model's files in the models directory: what is there, what may be replaced, and how.
 *
 * @module
 */
import { basename, join } from "@std/path";
import { M40Error } from "../../errors.ts";
import {
  type Choice,
  FileHash,
  filesOf,
  modelFileName,
  type ModelRecord,
  parseFileName,
  PARTIAL_FOLDER,
  quoteName,
  readRecord,
  type RecordedFile,
  type RemoteFile,
  removeIfThere,
  withReason,
} from "../mod.ts";
import { systemReason } from "../../system_error.ts";

/** What the folder that a model is put together in is called after its name. */
export const STAGING = ".copy";

/** What a model's files are called in the models directory. */
export function fileNames(name: string, count: number): string[] {
  if (count === 1) return [modelFileName(name)];
  return Array.from({ length: count }, (_, i) => modelFileName(name, { number: i + 1, count }));
}

/** The files of a model that is there, where by its record they are those of the choice. */
export async function isPresent(
  directory: string,
  name: string,
  choice: Choice,
): Promise<readonly RecordedFile[] | undefined> {
  const { record } = await readRecord(directory, name);
  if (record === undefined || record.files.length !== choice.files.length) return undefined;
  const names = fileNames(name, choice.files.length);
  for (const [i, recorded] of record.files.entries()) {
    const { bytes, sha256 } = choice.files[i];
    if (recorded.name !== names[i] || bytes === undefined || recorded.bytes !== bytes) {
      return undefined;
    }
    const same = sha256 === undefined
      ? record.source === choice.source
      : recorded.sha256 === sha256;
    if (!same || await sizeOf(join(directory, recorded.name)) !== bytes) return undefined;
  }
  return record.files;
}

/**
 * The files of a model that is there, where their bytes are those of the choice: a pull may have ended
 * between its last file and its record.
 */
export async function holdsFiles(
  directory: string,
  name: string,
  choice: Choice,
): Promise<RecordedFile[] | undefined> {
  const names = fileNames(name, choice.files.length);
  const files: RecordedFile[] = [];
  for (const [i, file] of choice.files.entries()) {
    const held = await holdsFile(join(directory, names[i]), file);
    if (held === undefined) return undefined;
    files.push(held);
  }
  return files;
}

/** A file that is there with the bytes of a remote one, by their hash. */
export async function holdsFile(
  path: string,
  { bytes, sha256 }: RemoteFile,
): Promise<RecordedFile | undefined> {
  if (bytes === undefined || sha256 === undefined || await sizeOf(path) !== bytes) return undefined;
  using hash = new FileHash(path);
  return await hash.digest(bytes) === sha256 ? { name: basename(path), bytes, sha256 } : undefined;
}

/**
 * Fails where a name is taken by a model from another source, or by a file that a user put there.
 *
 * @throws {M40Error} `invalid_request`
 */
export async function assertReplaceable(
  directory: string,
  name: string,
  { source, force, repository }: {
    readonly source: string;
    readonly force: boolean;
    /** Of an alias: all that is from there may be replaced, as aliases change with the program. */
    readonly repository?: string;
  },
): Promise<void> {
  if (force || !await isTaken(directory, name)) return;
  const { record } = await readRecord(directory, name);
  if (record?.source === source) return;
  if (
    repository !== undefined && record?.source.split(/[:/@]/).slice(0, 3).join("/") === repository
  ) {
    return;
  }
  throw new M40Error(
    "invalid_request",
    `There is a model ${quoteName(name)} already, ` +
      (record === undefined ? "which was not pulled" : `from ${record.source}`) +
      "; --name gives this one another name, --force replaces it.",
  );
}

/** Whether there is a model of that name; of one in parts the first says so, being put there last. */
async function isTaken(directory: string, name: string): Promise<boolean> {
  return (await filesOf(directory, name)).some((file) => {
    const part = parseFileName(file)?.part;
    return part === undefined || part.number === 1;
  });
}

/** Removes what a model of that name had before, once its new files are moved into place. */
export async function removeFormer(
  directory: string,
  name: string,
  files: readonly RecordedFile[],
): Promise<void> {
  for (const file of await filesOf(directory, name)) {
    if (files.some((each) => each.name === file)) continue;
    await change(file, Deno.remove(join(directory, file)));
  }
}

/**
 * Moves parts from one folder to another; those that are not in the first are in the second already.
 * The first part, without which there is no model, goes first and comes last: at no time are parts of
 * two models together.
 */
export async function putInPlace(
  from: string,
  to: string,
  files: readonly { readonly name: string }[],
): Promise<void> {
  const [first, ...others] = files.map(({ name }) => name);
  if (await sizeOf(join(from, first)) === undefined) {
    await change(first, Deno.rename(join(to, first), join(from, first)));
  } else if (others.length > 0) {
    await change(first, removeIfThere(join(to, first)));
  }
  for (const name of [...others, first]) {
    if (await sizeOf(join(from, name)) === undefined) continue;
    await change(name, Deno.rename(join(from, name), join(to, name)));
  }
}

/**
 * Takes the files over from another model of the directory that has the same ones, by their hashes:
 * they are on the disk once.
 *
 * @returns Undefined where there is none.
 */
export async function linkEqual(
  directory: string,
  name: string,
  choice: Choice,
): Promise<RecordedFile[] | undefined> {
  const other = await findEqual(directory, name, choice);
  if (other === undefined) return undefined;
  const names = fileNames(name, choice.files.length);
  try {
    await placeFiles(
      directory,
      name,
      names,
      (i, path) => Deno.link(join(directory, other[i].name), path),
    );
  } catch {
    // A file system without hard links: it is fetched.
    return undefined;
  }
  return other.map((file, i) => ({ ...file, name: names[i] }));
}

async function findEqual(directory: string, name: string, choice: Choice) {
  if (choice.files.some(({ sha256 }) => sha256 === undefined)) return undefined;
  const names: string[] = [];
  try {
    for await (const entry of Deno.readDir(directory)) {
      if (entry.name.endsWith(".json")) names.push(entry.name.slice(0, -".json".length));
    }
  } catch {
    return undefined;
  }
  for (const other of names) {
    if (other === name || parseFileName(`${other}.gguf`)?.name !== other) continue;
    const { record } = await readRecord(directory, other);
    if (record?.files.length !== choice.files.length) continue;
    let equal = true;
    for (const [i, file] of record.files.entries()) {
      equal &&= file.sha256 === choice.files[i].sha256 &&
        await sizeOf(join(directory, file.name)) === file.bytes;
    }
    if (equal) return record.files;
  }
  return undefined;
}

/** Gives a file of this machine a second name; on another file system, a link that leads to it. */
export async function link(from: string, to: string): Promise<void> {
  if (!await hardLink(from, to)) await Deno.symlink(from, to);
}

/** Gives a file a second name; false on another file system, one without hard links, and of another user's file. */
export async function hardLink(from: string, to: string): Promise<boolean> {
  try {
    // The file itself: a second name of a link would lead wherever it leads later.
    await Deno.link(await Deno.realPath(from), to);
    return true;
  } catch {
    return false;
  }
}

/** What is known of a model's files, with the hashes of those that a record has with as many bytes. */
export function withHashes(
  files: readonly RecordedFile[],
  record: ModelRecord | undefined,
): RecordedFile[] {
  return files.map((file, i) => {
    const known = record?.files[i];
    return known?.bytes === file.bytes ? { ...file, sha256: known.sha256 } : file;
  });
}

/** The folder that a model is put together in, by the holder of its lock. */
export function stagingFolder(directory: string, name: string): string {
  return join(directory, PARTIAL_FOLDER, name + STAGING);
}

/**
 * Makes a model's files in a folder of their own, then moves them into place. Older files of the name stay until all
 * are made, and parts of two models are never together.
 *
 * @param make Makes the file of an index at a path.
 * @throws {M40Error} `io`
 */
export async function placeFiles(
  directory: string,
  name: string,
  names: readonly string[],
  make: (index: number, path: string) => Promise<void>,
): Promise<void> {
  const folder = stagingFolder(directory, name);
  try {
    // What one that was killed has left.
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await Deno.mkdir(folder, { recursive: true });
    for (const [i, file] of names.entries()) await make(i, join(folder, file));
    await putInPlace(folder, directory, names.map((name) => ({ name })));
  } catch (error) {
    if (error instanceof M40Error) throw error;
    throw new M40Error(
      "io",
      `The model ${name} cannot be put into ${directory}: ${systemReason(error)}`,
    );
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const info = await Deno.stat(path);
    return info.isFile ? info.size : undefined;
  } catch {
    return undefined;
  }
}

async function change(file: string, work: Promise<void>): Promise<void> {
  await withReason(work, (reason) => `${file} cannot be put in its place: ${reason}`);
}
