/**
 * Models on disk, by name: the built-in `demo`, and the GGUF files of the models directory.
 *
 * @module
 */
import { basename, join, resolve } from "@std/path";
import { M40Error } from "../errors.ts";
import { systemReason } from "../system_error.ts";
import { demoModelFile, demoModelPath } from "./demo_model.ts";
import { modelsDirectory, NO_MODELS_DIRECTORY } from "./folders.ts";
import { DEMO_MODEL, isModelName, MODEL_EXTENSION as EXTENSION } from "./names.ts";
import { nearest } from "./nearest.ts";

/** A model that can be named. */
export interface StoredModel {
  readonly name: string;
  /** The GGUF file. Of the built-in model in the executable, a path that only TypeScript can read. */
  readonly path: string;
  readonly fileBytes: number;
  /** Whether it comes with the program. */
  readonly builtIn: boolean;
}

/** Every model that has a name: the built-in one first, then those of the models directory. */
export async function listModels(): Promise<StoredModel[]> {
  const models: StoredModel[] = [];
  const demo = await fileBytes(demoModelFile);
  if (demo !== undefined) {
    models.push({ name: DEMO_MODEL, path: demoModelFile, fileBytes: demo, builtIn: true });
  }
  const directory = modelsDirectory();
  if (directory === undefined) return models;
  for (const file of await fileNames(directory)) {
    const name = file.slice(0, -EXTENSION.length);
    if (!file.endsWith(EXTENSION) || !isModelName(name) || name === DEMO_MODEL) continue;
    const path = join(directory, file);
    const bytes = await fileBytes(path);
    if (bytes !== undefined) models.push({ name, path, fileBytes: bytes, builtIn: false });
  }
  return models;
}

/**
 * The model of a name, or the one at a path: what contains a slash or ends in `.gguf` is a path.
 *
 * @throws {M40Error} `model_not_found`, with what there is and the nearest name; `io` where the
 * built-in model cannot be copied out of the executable.
 */
export async function resolveModel(nameOrPath: string): Promise<StoredModel> {
  if (nameOrPath.includes("/") || nameOrPath.endsWith(EXTENSION)) return await atPath(nameOrPath);
  if (isModelName(nameOrPath)) {
    if (nameOrPath === DEMO_MODEL && await fileBytes(demoModelFile) !== undefined) {
      const path = await demoModelPath();
      return { name: DEMO_MODEL, path, fileBytes: await fileBytes(path) ?? 0, builtIn: true };
    }
    const directory = modelsDirectory();
    if (directory !== undefined) {
      const path = join(directory, nameOrPath + EXTENSION);
      const bytes = await fileBytes(path);
      if (bytes !== undefined) return { name: nameOrPath, path, fileBytes: bytes, builtIn: false };
    }
  }
  throw await notFound(nameOrPath);
}

async function atPath(path: string): Promise<StoredModel> {
  const bytes = await fileBytes(path);
  if (bytes !== undefined) {
    const name = basename(path, EXTENSION) || path;
    return { name, path: resolve(path), fileBytes: bytes, builtIn: false };
  }
  if (await exists(path)) {
    throw new M40Error("model_not_found", `${path} is not a file; wanted the path of a GGUF file.`);
  }
  if (!path.includes("/")) throw await notFound(path);
  throw new M40Error("model_not_found", `There is no file ${path}.`);
}

async function notFound(name: string): Promise<M40Error> {
  const names = (await listModels()).map((model) => model.name);
  const directory = modelsDirectory();
  const bare = name.endsWith(EXTENSION) ? name.slice(0, -EXTENSION.length) : name;
  // Typed with the extension, a name of the models directory is at distance 0 and just as welcome.
  const near = nearest(bare, names);
  const shown = JSON.stringify(name.length > 200 ? name.slice(0, 197) + "..." : name);
  return new M40Error(
    "model_not_found",
    `There is no model ${shown}.` +
      (near === undefined ? "" : ` Did you mean "${near}"?`) +
      (names.length === 0 ? "" : ` There is: ${names.join(", ")}.`) +
      (directory === undefined
        ? ` ${NO_MODELS_DIRECTORY} A GGUF file is named by its path.`
        : ` Models are GGUF files in ${directory}; a file elsewhere is named by its path.`),
  );
}

/** The length of the file at a path in bytes; undefined where there is no file. */
async function fileBytes(path: string): Promise<number | undefined> {
  const info = await stat(path);
  return info?.isFile ? info.size : undefined;
}

async function exists(path: string): Promise<boolean> {
  return await stat(path) !== undefined;
}

async function stat(path: string): Promise<Deno.FileInfo | undefined> {
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

/** The names of a directory's entries, sorted; none where it does not exist. */
async function fileNames(directory: string): Promise<string[]> {
  try {
    const names: string[] = [];
    for await (const entry of Deno.readDir(directory)) names.push(entry.name);
    return names.sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw new M40Error(
      "io",
      `The models directory ${directory} cannot be read: ${systemReason(error)}`,
    );
  }
}
