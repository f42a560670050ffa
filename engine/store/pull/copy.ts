import { join, resolve } from "@std/path";
import { M40Error } from "../../errors.ts";
import {
  filesOf,
  foreignEntries,
  isModelName,
  lockModel,
  type ModelRecord,
  parseNewModelName,
  PARTIAL_FOLDER,
  quoteName,
  type RecordedFile,
  recordFileName,
  removeIfThere,
  requireModelsDirectory,
  resolveModel,
  type StoredModel,
  withReason,
  writeRecord,
} from "../mod.ts";
import { systemReason } from "../../system_error.ts";
import {
  fileNames,
  hardLink,
  putInPlace,
  removeFormer,
  STAGING,
  stagingFolder,
  withHashes,
} from "./place.ts";

/** A copy of a model. */
export interface Copied {
  readonly name: string;
  readonly source: StoredModel;
  readonly files: readonly RecordedFile[];
  /** Whether the bytes are on the disk once, under both names. */
  readonly linked: boolean;
}

/** How a model is copied. */
export interface CopyOptions {
  /** Whether a model of that name is replaced. */
  readonly force?: boolean;
  /** What is known of the copy, by what is known of what it was made from; default: the same. */
  readonly describe?: (
    record: ModelRecord | undefined,
    files: readonly RecordedFile[],
  ) => ModelRecord | undefined;
}

/**
 * Gives a model another name in the models directory, by a second name for the same files where the file
 * system has that, else by a copy. A model of the models directory, of another program's cache, the built-in one, or a
 * file can be copied. A file at a path may still be written to, and so is never linked.
 *
 * @throws {M40Error} `invalid_request` where the name is taken and `force` is not set; `invalid_model` where
 * parts are missing; `io` where files cannot be read or written. Until all files are there, the name has
 * those that it had.
 */
export async function copyModel(
  from: string,
  to: string,
  { force = false, describe = (record) => record }: CopyOptions = {},
): Promise<Copied> {
  const directory = requireModelsDirectory();
  const { name } = parseNewModelName(to);
  const source = await resolveModel(from);
  const names = fileNames(name, source.files.length);
  if (source.files.some((file) => names.some((each) => resolve(file) === join(directory, each)))) {
    throw new M40Error("invalid_request", `${quoteName(from)} is ${quoteName(name)} already.`);
  }
  await checkWhole(source);
  using _lock = await lockModel(directory, name);
  using _other = source.origin === "store" ? await lockModel(directory, source.name) : undefined;
  if (!force && (await filesOf(directory, name)).length > 0) {
    throw new M40Error(
      "invalid_request",
      `There is a model ${quoteName(name)} already; --force replaces it.`,
    );
  }
  await removeLeftovers(directory);
  const folder = stagingFolder(directory, name);
  try {
    const { files, linked } = await stage(source, folder, names);
    // Whatever is read from here on, it is not the new files with what came with the old ones.
    const path = join(directory, recordFileName(name));
    await withReason(removeIfThere(path), (reason) => `${path} cannot be replaced: ${reason}.`);
    await putInPlace(folder, directory, files);
    await removeFormer(directory, name, files);
    const record = describe(recordOf(source, files), files);
    if (record !== undefined) await writeRecord(directory, name, record);
    return { name, source, files, linked };
  } finally {
    await Deno.remove(folder, { recursive: true }).catch(() => {});
  }
}

/** Fails where a model's parts are not all there: a copy would be as useless, and hide which are missing. */
async function checkWhole({ path }: StoredModel): Promise<void> {
  const { readGguf } = await import("../../gguf/reader.ts");
  await readGguf(path, { anyType: true });
}

/** Removes what has been left of other names by what was killed. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const folder of await foreignEntries(join(directory, PARTIAL_FOLDER), "folders", 1000)) {
    const name = folder.slice(0, -STAGING.length);
    if (!folder.endsWith(STAGING) || !isModelName(name)) continue;
    try {
      // The process that works on it still has the lock.
      using _lock = await lockModel(directory, name);
      await Deno.remove(stagingFolder(directory, name), { recursive: true });
    } catch {
      // Then it takes its room a little longer.
    }
  }
}

/** Links or copies files into a folder under other names. */
async function stage(
  source: StoredModel,
  folder: string,
  names: readonly string[],
): Promise<{ files: RecordedFile[]; linked: boolean }> {
  const files: RecordedFile[] = [];
  let linked = true;
  try {
    // What a copy that was interrupted has left.
    await Deno.remove(folder, { recursive: true }).catch(() => {});
    await Deno.mkdir(folder, { recursive: true });
    for (const [i, path] of source.files.entries()) {
      const target = join(folder, names[i]);
      if (!mayLink(source) || !await hardLink(path, target)) {
        await Deno.copyFile(path, target);
        linked = false;
      }
      const bytes = await sizeOf(target);
      if (bytes !== await sizeOf(path)) throw new Error("it changed while it was copied");
      files.push({ name: names[i], bytes });
    }
  } catch (error) {
    throw new M40Error(
      "io",
      `${source.name} cannot be copied to ${folder}: ${systemReason(error)}.`,
    );
  }
  return { files, linked };
}

/** Whether no process writes to a model's files: they only come and go. */
function mayLink({ origin }: StoredModel): boolean {
  return origin === "store" || origin === "ollama" || origin === "hugging-face";
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size;
}

/** What is known of the copy: all that is known of what it was made from. */
function recordOf(source: StoredModel, files: readonly RecordedFile[]): ModelRecord | undefined {
  const { record, origin, path } = source;
  if (record === undefined) {
    return origin === "path" ? { source: path, pulledAt: new Date(), files } : undefined;
  }
  return { ...record, files: withHashes(files, record) };
}
