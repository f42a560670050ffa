import { M40Error } from "../engine/errors.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import {
  listModels,
  modelsDirectory,
  NO_MODELS_DIRECTORY,
  type StoredModel,
} from "../engine/store/mod.ts";
import { type Command, command, flag } from "./command.ts";
import { formatBytes, formatTable } from "./format.ts";
import { describe, type ModelSummary, summarize } from "./model_summary.ts";
import { printable, style, write, writeError } from "./terminal.ts";

/** `m40 list`. */
export const list: Command = command({
  name: "list",
  summary: "List the models that have a name",
  description: "The built-in model and the GGUF files of the models directory: $M40_MODELS, else " +
    "$XDG_DATA_HOME/m40/models, else ~/.local/share/m40/models. A file NAME.gguf is called NAME.",
  arguments: [],
  options: { json: flag("Write a JSON array") },
  examples: [
    { line: "m40 list", about: "What there is" },
    { line: "m40 list --json | jq -r '.[].name'", about: "Only the names" },
  ],
  async run(_words, options) {
    const models = await Promise.all((await listModels()).map(look));
    if (options.json) {
      await write(JSON.stringify(models.map(asJson), null, 2) + "\n");
      return;
    }
    if (models.length > 0) {
      const rows = models.map(({ model, summary, problem }) => [
        model.name,
        formatBytes(model.fileBytes),
        printable(summary ? describe(summary) : `cannot be read: ${problem}`).replace(/\s+/g, " "),
        model.builtIn ? "(built in)" : printable(model.path),
      ]);
      const [heading, ...lines] = formatTable([["NAME", "SIZE", "MODEL", "PATH"], ...rows], [1])
        .split("\n");
      await write([style(Deno.stdout, "bold", heading), ...lines].join("\n"));
    }
    if (models.every(({ model }) => model.builtIn)) {
      const directory = modelsDirectory();
      await writeError(
        directory === undefined
          ? `${NO_MODELS_DIRECTORY}\n`
          : `GGUF files in ${directory} are listed here too.\n`,
      );
    }
  },
});

interface LookedAt {
  readonly model: StoredModel;
  readonly summary?: ModelSummary;
  /** Why the file cannot be read. */
  readonly problem?: string;
}

async function look(model: StoredModel): Promise<LookedAt> {
  try {
    return { model, summary: summarize(await readGguf(model.path, { anyType: true })) };
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    return { model, problem: error.message.replace(`${model.path}: `, "") };
  }
}

function asJson({ model, summary, problem }: LookedAt): Record<string, unknown> {
  return {
    name: model.name,
    // In the executable the built-in model's path means nothing to other programs.
    path: model.builtIn ? undefined : model.path,
    size_bytes: model.fileBytes,
    built_in: model.builtIn,
    title: summary?.title,
    architecture: summary?.architecture,
    parameters: summary?.parameters,
    quantisation: summary?.quantisation,
    error: problem,
  };
}
