import { basename, join } from "@std/path";
import { M40Error } from "../../errors.ts";
import {
  filesOf,
  lockModel,
  MAX_TEXT_LENGTH,
  type ModelRecord,
  type ParameterValue,
  parseNewModelName,
  parseParameters,
  quoteName,
  readRecord,
  recordDefaults,
  type RecordedFile,
  requireModelsDirectory,
  type StoredModel,
  writeRecord,
} from "../mod.ts";
import { systemReason } from "../../system_error.ts";
import { copyModel } from "./copy.ts";
import { withHashes } from "./place.ts";

/** What a model that is made of another has of its own; what is absent is as that one has it. */
export interface Creation {
  /** The system message of conversations that bring none. */
  readonly system?: string;
  /** Defaults of sampling and of the context, by their Ollama names. */
  readonly parameters?: Readonly<Record<string, ParameterValue>>;
}

/**
 * What a request says of a new model, checked: nothing that a model would be loaded without.
 *
 * @throws {M40Error} "invalid_request" with what is wrong.
 */
export function parseCreation(system: string | undefined, parameters: unknown): Creation {
  if (system !== undefined && system.length > MAX_TEXT_LENGTH) {
    throw wrong(
      "system",
      `it has ${system.length} characters, and ${MAX_TEXT_LENGTH} are the most`,
    );
  }
  if (parameters === undefined) return { system };
  let parsed: Record<string, ParameterValue>;
  try {
    parsed = parseParameters(parameters);
  } catch (error) {
    throw wrong("parameters", systemReason(error));
  }
  const problems: string[] = [];
  recordDefaults({ parameters: parsed }, (problem) => problems.push(problem));
  if (problems.length > 0) throw wrong("parameters", problems[0]);
  return { system, parameters: parsed };
}

function wrong(param: string, problem: string): M40Error {
  return new M40Error("invalid_request", `${param}: ${problem}.`, param);
}

/**
 * Makes a model of another: the same files under another name, with a record of its own. Where the name has these
 * files already, its record alone is changed; where it has others, nothing is.
 *
 * @throws {M40Error} as {@link copyModel} does.
 */
export async function createModel(
  name: string,
  from: StoredModel,
  creation: Creation,
): Promise<void> {
  const directory = requireModelsDirectory();
  parseNewModelName(name);
  const describe = (known: ModelRecord | undefined, files: readonly RecordedFile[]) => ({
    source: from.name,
    pulledAt: new Date(),
    ...known,
    files,
    system: creation.system ?? known?.system,
    parameters: { ...known?.parameters, ...creation.parameters },
  });
  {
    using _lock = await lockModel(directory, name);
    const files = (await filesOf(directory, name)).map((file) => join(directory, file));
    if (files.length > 0) {
      const { record } = await readRecord(directory, name);
      const source = from.record?.source ?? from.name;
      // A copy, where the file system has no second names for files, or of the built-in model.
      const isCopy = record?.source === source && await bytesOf(files) === from.fileBytes;
      if (!isCopy && !await areSame(files, from.files)) {
        throw new M40Error(
          "invalid_request",
          `There is a model ${quoteName(name)} already, and it is another one than ` +
            `${quoteName(from.name)}. Delete it first, or choose another name.`,
          "model",
        );
      }
      const there = await Promise.all(files.map(async (path) => ({
        name: basename(path),
        bytes: (await Deno.stat(path)).size,
      })));
      const recorded = withHashes(there, from.record);
      return await writeRecord(directory, name, describe(from.record, recorded));
    }
  }
  await copyModel(from.name, name, { describe });
}

async function bytesOf(paths: readonly string[]): Promise<number> {
  const infos = await Promise.all(paths.map((path) => Deno.stat(path)));
  return infos.reduce((sum, { size }) => sum + size, 0);
}

/** Whether files are the same ones, under other names perhaps. */
async function areSame(ones: readonly string[], others: readonly string[]): Promise<boolean> {
  if (ones.length !== others.length) return false;
  const same = await Promise.all(ones.map(async (one, i) => {
    const [a, b] = await Promise.all([Deno.stat(one), Deno.stat(others[i])]);
    return a.ino === b.ino && a.dev === b.dev;
  }));
  return same.every((one) => one);
}
