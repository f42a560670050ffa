/**
 * Names of models, and the names of their files: a name that passes here can be joined to a folder and stays in it,
 * even if a stranger made it up.
 *
 * @module
 */
import { M40Error } from "../errors.ts";
import { endsLikePart, joinFileName, MAX_PARTS, type Part, splitFileName } from "../gguf/mod.ts";

export { MAX_PARTS, type Part, splitFileName };

/** The name of the built-in model. */
export const DEMO_MODEL = "demo";

/** What the files of models end in. */
export const MODEL_EXTENSION = ".gguf";

/** The folder of the models directory for files that are not whole yet. No name begins with a dot. */
export const PARTIAL_FOLDER = ".partial";

/** Characters of a name: with a part's ending it stays below the 255 bytes of a file's name. */
export const MAX_NAME_LENGTH = 200;

/** A name taken apart: `mistral:7b` has the tag `7b`. */
export interface ModelName {
  /** All of it. */
  readonly name: string;
  readonly base: string;
  readonly tag?: string;
}

const WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** Whether a text can be the name of a model. */
export function isModelName(text: string): boolean {
  return problemOf(text) === undefined;
}

/**
 * A name, taken apart.
 *
 * @throws {M40Error} `invalid_request`, with what is wrong about it.
 */
export function parseModelName(text: string): ModelName {
  const problem = problemOf(text);
  if (problem !== undefined) {
    throw new M40Error(
      "invalid_request",
      `${quoteName(text)} cannot be the name of a model: ${problem}. Wanted letters, digits, ` +
        '".", "_" and "-", and at most one ":" before a tag, as in "mistral:7b-q4_K_M".',
    );
  }
  const [base, tag] = text.split(":");
  return { name: text, base, tag };
}

/**
 * A name that a new model may have: that of the built-in one is taken.
 *
 * @throws {M40Error} `invalid_request`, with what is wrong about it.
 */
export function parseNewModelName(text: string): ModelName {
  const name = parseModelName(text);
  if (text === DEMO_MODEL) {
    throw new M40Error(
      "invalid_request",
      `"${DEMO_MODEL}" is the name of the built-in model; choose another one.`,
    );
  }
  return name;
}

/** What keeps a text from being a name; undefined where nothing does. */
function problemOf(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (text.length > MAX_NAME_LENGTH) {
    return `it has ${text.length} characters, and ${MAX_NAME_LENGTH} are the most`;
  }
  if (text.includes("\0")) return "it contains a NUL character";
  // deno-lint-ignore no-control-regex
  if (/[\x00-\x1f\x7f-\x9f]/.test(text)) return "it contains a control character";
  if (text.startsWith("/")) return "it is an absolute path";
  if (/(^|[/\\])\.\.([/\\]|$)/.test(text)) return 'it contains ".."';
  if (/[/\\]/.test(text)) return "it contains a path separator";
  if (text.startsWith(".")) return "it begins with a dot";
  if (text.startsWith("-")) return "it begins with a dash";
  const words = text.split(":");
  if (words.length > 2) return "it contains more than one colon";
  if (words.includes("")) return "there is nothing on one side of its colon";
  const bad = words.find((word) => !WORD.test(word));
  if (bad !== undefined) {
    const character = [...bad].find((each) => !/[A-Za-z0-9._-]/.test(each));
    return character === undefined
      ? `its tag begins with ${JSON.stringify(bad[0])}`
      : `it contains ${JSON.stringify(character)}`;
  }
  // Either would be read as something else: a path, and one file of several.
  if (text.endsWith(MODEL_EXTENSION)) return `it ends in "${MODEL_EXTENSION}", as paths do`;
  if (endsLikePart(text)) return "it ends as the file of a model in several parts does";
  return undefined;
}

/** A text in quotes, short enough for a message, with nothing in it that a terminal would obey. */
export function quoteName(text: string): string {
  return JSON.stringify(text.length > MAX_NAME_LENGTH ? text.slice(0, 197) + "..." : text);
}

/**
 * The name of a model's file; of one of its files where it is in several.
 *
 * @throws {M40Error} `invalid_request` where it is no name.
 */
export function modelFileName(name: string, part?: Part): string {
  return joinFileName(parseModelName(name).name, part);
}

/**
 * The name of the record next to a model.
 *
 * @throws {M40Error} `invalid_request` where it is no name.
 */
export function recordFileName(name: string): string {
  return `${parseModelName(name).name}.json`;
}

/** The model that a file of the models directory is of; undefined where its name is of none. */
export function parseFileName(file: string): { name: string; part?: Part } | undefined {
  const split = splitFileName(file);
  if (split === undefined || !isModelName(split.stem)) return undefined;
  return { name: split.stem, part: split.part };
}
