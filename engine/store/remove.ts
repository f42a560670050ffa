import { join } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { requireModelsDirectory } from "./folders.ts";
import { lockModel } from "./model_lock.ts";
import { DEMO_MODEL, isModelName, quoteName, recordFileName } from "./names.ts";
import { filesOf } from "./own.ts";
import { partialFilesOf } from "./partial_files.ts";
import { readRecord } from "./record.ts";
import { resolveModel } from "./store.ts";
import type { StoredModel } from "./stored_model.ts";

/** What was removed. */
export interface Removed {
  readonly name: string;
  /** Names of files in the models directory, the record among them. */
  readonly files: readonly string[];
  /**
   * Bytes that the disk has back, those of what was fetched in part included: none for links, and for files that have
   * another name.
   */
  readonly freedBytes: number;
}

/**
 * Removes a model of the models directory: its file or all of its parts, and its record. Of links the links
 * go, and what they lead to stays.
 *
 * @throws {M40Error} `invalid_request` for a model that is not of the models directory, with what to do;
 * `model_not_found`; `io` where it is being fetched, or cannot be removed.
 */
export async function removeModel(name: string): Promise<Removed> {
  const directory = requireModelsDirectory();
  const own = name !== DEMO_MODEL && isModelName(name) ? await ownName(directory, name) : undefined;
  if (own === undefined) throw notOurs(name, await resolveModel(name));
  using _lock = await lockModel(directory, own);
  // The record first: it must not be there for another model of that name that comes later.
  const files = [...await record(directory, own), ...await filesOf(directory, own)];
  let freedBytes = 0;
  const partial = await partialFilesOf(directory, own);
  for (const file of [...files, ...partial]) freedBytes += await remove(join(directory, file));
  return { name: own, files, freedBytes };
}

/** The name that a model of the directory has; undefined where nothing there is called so. */
async function ownName(directory: string, name: string): Promise<string | undefined> {
  for (const each of [name, `${name}:latest`]) {
    if (!isModelName(each)) continue;
    if ((await filesOf(directory, each)).length > 0) return each;
    // Of a model whose files are gone already. What is no record of ours is none of our business.
    if ((await readRecord(directory, each)).record !== undefined) return each;
    // Of one that was never whole, what is there of it.
    if ((await partialFilesOf(directory, each)).length > 0) return each;
  }
  return undefined;
}

/** The name of a model's record, where there is one. */
async function record(directory: string, name: string): Promise<string[]> {
  const file = recordFileName(name);
  const info = await Deno.lstat(join(directory, file)).catch(() => undefined);
  return info === undefined || info.isDirectory ? [] : [file];
}

async function remove(path: string): Promise<number> {
  try {
    const { isFile, size, nlink } = await Deno.lstat(path);
    await Deno.remove(path);
    return isFile && (nlink ?? 1) === 1 ? size : 0;
  } catch (error) {
    // Another process has removed it.
    if (error instanceof Deno.errors.NotFound) return 0;
    throw new M40Error("io", `${path} cannot be removed: ${systemReason(error)}.`);
  }
}

function notOurs(name: string, { origin, path, record, name: called }: StoredModel): M40Error {
  const what = quoteName(name);
  const repository = record?.source.replace(/^hf\.co\//, "").replace(/:[^:]*$/, "")
    .split("/").slice(0, 2).join("/");
  const message = {
    "built-in": `The model ${what} comes with the program, and cannot be removed.`,
    "ollama": `The model ${what} is in Ollama's cache: \`ollama rm ${called}\` removes it.`,
    "hugging-face": `The model ${what} is in Hugging Face's cache: ` +
      `\`hf cache rm model/${repository}\` removes its repository from there.`,
    "path": `${path} is a path; only models of the models directory are removed, by their names. ` +
      "A file elsewhere is removed as any other file.",
    "store": `The model ${what} was removed meanwhile.`,
  }[origin];
  return new M40Error("invalid_request", message);
}
