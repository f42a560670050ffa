/**
 * Models on disk, by name: the built-in `demo`, the GGUF files of the models directory, and those that
 * other programs have fetched.
 *
 * @module
 */
import { basename, dirname, resolve } from "@std/path";
import { M40Error } from "../errors.ts";
import { assertNotCut, wholeOf } from "../gguf/mod.ts";
import type { ForeignModel } from "./caches/foreign_model.ts";
import { hubModels } from "./caches/hugging_face.ts";
import { ollamaModels } from "./caches/ollama.ts";
import { demoModelFile, demoModelPath } from "./demo_model.ts";
import { fileBytes, stat } from "./files.ts";
import { modelsDirectory, NO_MODELS_DIRECTORY } from "./folders.ts";
import {
  DEMO_MODEL,
  isModelName,
  MODEL_EXTENSION as EXTENSION,
  parseFileName,
  quoteName,
  splitFileName,
} from "./names.ts";
import { nearest } from "../nearest.ts";
import { type OwnModel, ownModel, ownModels, siblings } from "./own.ts";
import { readRecord } from "./record.ts";
import { sameQuantisation } from "./sources/quantisations.ts";
import type { ModelOrigin, StoredModel } from "./stored_model.ts";

export type { ModelOrigin, StoredModel } from "./stored_model.ts";

/** Names of models that a message has room for. */
const SHOWN_NAMES = 20;

/**
 * Every model that has a name: the built-in one first, then those of the models directory, then those in
 * the caches of other programs. No name is there twice.
 */
export async function listModels(): Promise<StoredModel[]> {
  const models: StoredModel[] = [];
  const demo = await fileBytes(demoModelFile);
  if (demo !== undefined) models.push(demoModel(demoModelFile, demo));
  const directory = modelsDirectory();
  if (directory !== undefined) {
    const own = (await ownModels(directory)).filter(({ name }) => name !== DEMO_MODEL);
    models.push(...own.map((model) => modelOf(model.name, "store", model)));
  }
  const taken = new Set(models.flatMap(({ name }) => [name, name.replace(/:latest$/, "")]));
  for (const model of await foreignModels()) {
    if (model.problem !== undefined) continue;
    const name = [...model.names, model.longName].find((name) => !taken.has(name));
    // One that is known by all of its names is the same file found twice.
    if (name === undefined) continue;
    taken.add(name);
    if (model.alias !== undefined) taken.add(model.alias);
    models.push(modelOf(name, model.origin, model));
  }
  return models;
}

/**
 * The model of a name, or the one at a path: what ends in `.gguf` or has a slash is a path, where there is
 * such a file.
 *
 * @throws {M40Error} `model_not_found`, with what there is and the nearest name; `invalid_model` for one
 * in another program's cache that cannot be used; `io` where the built-in model cannot be copied out of
 * the executable.
 */
export async function resolveModel(nameOrPath: string): Promise<StoredModel> {
  const isPath = nameOrPath.includes("/") || nameOrPath.endsWith(EXTENSION) ||
    wholeOf(nameOrPath) !== undefined;
  if (isPath) {
    const found = await atPath(nameOrPath);
    if (found !== undefined) return found;
  }
  if (nameOrPath === DEMO_MODEL && await fileBytes(demoModelFile) !== undefined) {
    const path = await demoModelPath();
    return demoModel(path, await fileBytes(path) ?? 0);
  }
  const directory = modelsDirectory();
  if (directory !== undefined && isModelName(nameOrPath)) {
    const own = await ownModel(directory, nameOrPath) ??
      await latest(directory, nameOrPath);
    if (own !== undefined) return await withRecord(modelOf(own.name, "store", own), directory);
  }
  const foreign = await inCaches(nameOrPath);
  if (foreign !== undefined) return foreign;
  if (isPath) await assertNotCut(nameOrPath);
  if (isPath && nameOrPath.includes("/")) {
    throw new M40Error("model_not_found", `There is no file ${nameOrPath}.`);
  }
  throw await notFound(nameOrPath);
}

/** What a name without a tag stands for where there is no model of just that name. */
async function latest(directory: string, name: string): Promise<OwnModel | undefined> {
  const tagged = `${name}:latest`;
  return isModelName(tagged) ? await ownModel(directory, tagged) : undefined;
}

function modelOf(
  name: string,
  origin: ModelOrigin,
  { files, fileBytes }: Pick<StoredModel, "files" | "fileBytes">,
): StoredModel {
  return { name, path: files[0], files, fileBytes, builtIn: origin === "built-in", origin };
}

function demoModel(path: string, fileBytes: number): StoredModel {
  return modelOf(DEMO_MODEL, "built-in", { files: [path], fileBytes });
}

async function withRecord(model: StoredModel, directory: string): Promise<StoredModel> {
  const { record, problem } = await readRecord(directory, model.name);
  const bytes = record?.files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (bytes === undefined || bytes === model.fileBytes) {
    return { ...model, record, recordProblem: problem };
  }
  // A program that replaced the file has not changed the record, which says nothing of the new one.
  const recordProblem =
    `the record of ${model.name} is not used: it is of ${bytes} bytes, and its ` +
    `files have ${model.fileBytes}`;
  return { ...model, recordProblem };
}

/** The models of other programs. */
async function foreignModels(): Promise<ForeignModel[]> {
  const [ollama, hub] = await Promise.all([ollamaModels(), hubModels()]);
  return [...ollama, ...hub];
}

/**
 * The model of a name in a cache of another program. The quantisation after `hf.co/OWNER/REPO:` may be in
 * any case, and missing where the repository's files are of one only.
 */
async function inCaches(name: string): Promise<StoredModel | undefined> {
  const models = await foreignModels();
  // As `m40 pull` takes them.
  const wanted = name.replace(/^(https:\/\/)?(hf\.co|huggingface\.co)\//, "hf.co/")
    .replace(/^ollama:(\/\/)?/, "");
  const called = (model: ForeignModel) =>
    [...model.names, model.alias, model.longName].some((each) => each && sameName(each, wanted));
  // One that can be used before one that cannot, of the same name in another folder.
  const found =
    models.filter(called).sort((a, b) => Number(!!a.problem) - Number(!!b.problem))[0] ??
      onlyOneOf(models, wanted);
  if (found === undefined) return undefined;
  if (found.problem !== undefined) throw new M40Error("invalid_model", `${found.problem}.`);
  const problems: string[] = [];
  const record = await found.record((problem) => problems.push(problem));
  const shown = [...found.names, found.longName].find((each) => sameName(each, wanted));
  return {
    // By the name that it was asked for by; "mistral" is shown as what it stands for.
    ...modelOf(shown ?? found.names[0] ?? found.longName, found.origin, found),
    record,
    recordProblem: problems.length > 0 ? problems.join("; ") : undefined,
  };
}

function sameName(one: string, other: string): boolean {
  if (!one.startsWith("hf.co/")) return one === other;
  return one.toLowerCase() === other.toLowerCase();
}

/** The model of a repository, or of a quantisation of it, that has one only. */
function onlyOneOf(models: readonly ForeignModel[], wanted: string): ForeignModel | undefined {
  const [, address, asked] = /^(hf\.co\/[^/:]+\/[^/:]+)(?::([^/:]+))?$/.exec(wanted) ?? [];
  if (address === undefined) return undefined;
  const inside = models.filter(({ longName, quantisation }) =>
    longName.toLowerCase().startsWith(`${address.toLowerCase()}/`) &&
    (asked === undefined || sameQuantisation(quantisation, asked))
  );
  const usable = inside.filter(({ problem }) => problem === undefined);
  if (usable.length > 1) {
    throw new M40Error(
      "model_not_found",
      `${wanted} has several models here: ${shownNames(namesApart(usable))}. Say which.`,
    );
  }
  return usable[0] ?? inside[0];
}

/** A name for each model, none twice. */
function namesApart(models: readonly ForeignModel[]): string[] {
  const names = models.map(({ names, longName }) =>
    names.find((name) => name.startsWith("hf.co/")) ?? longName
  );
  return names.map((name, i) =>
    names.indexOf(name) === names.lastIndexOf(name) ? name : models[i].longName
  );
}

/** The model at a path; undefined where there is nothing. */
async function atPath(path: string): Promise<StoredModel | undefined> {
  const bytes = await fileBytes(path);
  if (bytes === undefined) {
    if (await stat(path) === undefined) return undefined;
    throw new M40Error("model_not_found", `${path} is not a file; wanted the path of a GGUF file.`);
  }
  const absolute = resolve(path);
  const files = await siblings(absolute);
  const name = splitFileName(basename(path))?.stem || basename(path) || path;
  const model = {
    ...modelOf(name, "path", {
      files: files.map(({ path }) => path),
      fileBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    }),
    path: absolute,
  };
  const directory = modelsDirectory();
  const stored = dirname(absolute) === directory && parseFileName(basename(absolute));
  return stored ? await withRecord(model, directory) : model;
}

async function notFound(name: string): Promise<M40Error> {
  const names = (await listModels()).map((model) => model.name);
  const directory = modelsDirectory();
  const bare = name.endsWith(EXTENSION) ? name.slice(0, -EXTENSION.length) : name;
  // Typed with the extension, a name of the models directory is at distance 0 and just as welcome.
  const near = nearest(bare, names);
  return new M40Error(
    "model_not_found",
    `There is no model ${quoteName(name)}.` +
      (near === undefined ? "" : ` Did you mean "${near}"?`) +
      (names.length === 0 ? "" : ` There is: ${shownNames(names)}.`) +
      (directory === undefined
        ? ` ${NO_MODELS_DIRECTORY} A GGUF file is named by its path.`
        : ` Models are GGUF files in ${directory}; a file elsewhere is named by its path.`),
  );
}

function shownNames(names: readonly string[]): string {
  const more = names.length - SHOWN_NAMES;
  return names.slice(0, SHOWN_NAMES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
