import { type Command, command, flag } from "../arguments/mod.ts";
import { describe, lookAt, type Looked, type LookedAt } from "../show/mod.ts";
import {
  formatBytes,
  headedTable,
  printable,
  write,
  writeError,
  writeJson,
} from "../terminal/mod.ts";
import {
  listModels,
  modelsDirectory,
  NO_MODELS_DIRECTORY,
  type StoredModel,
} from "../../engine/store/mod.ts";

/** `m40 list`. */
export const list: Command = command({
  name: "list",
  summary: "List the models, whether they fit and how fast they should be",
  description:
    "Lists the built-in model, the files of the models directory, and what Ollama and Hugging Face's tools have " +
    "fetched. The models directory is $M40_MODELS, else $XDG_DATA_HOME/m40/models, else " +
    "~/.local/share/m40/models. A file NAME.gguf, or its parts NAME-00001-of-00003.gguf and so on, is the " +
    "model NAME.\n" +
    "Whether a model fits, and its tokens a second, are estimates for the GPU, or without one for a " +
    "Tesla M40 of 24 GB. Tokens a second are the memory's bandwidth over the bytes that a token reads: an upper bound.",
  arguments: [],
  options: { json: flag("Write a JSON array") },
  examples: {
    "m40 list": "What there is",
    "m40 list --json | jq -r '.[].name'": "Only the names",
  },
  async run(_words, options) {
    const looked = await lookAt(await listModels());
    if (options.json) {
      const models = looked.models.map((model) => asJson(model, looked));
      return await writeJson(models);
    }
    if (looked.models.length > 0) await write(asText(looked));
    await writeError(notes(looked));
  },
});

const HEADINGS = ["NAME", "SIZE", "MODEL", "CONTEXT", "FITS", "TOKENS/S", "REASON", "PATH"];
const REASON = HEADINGS.indexOf("REASON");
/** Characters of a reason that a line has room for; `m40 show` has all of it. */
const REASON_LENGTH = 60;

function asText({ models }: Looked): string {
  const rows = models.map(({ model, overview, problem }) => [
    printable(model.name),
    formatBytes(model.fileBytes),
    oneLine(overview ? describe(overview) : `cannot be read: ${problem}`),
    overview?.contextTokens?.toString() ?? "",
    oneLine(describeFit(overview)),
    describeSpeed(overview?.estimate?.tokensPerSecond),
    oneLine(shortReason(overview?.obstacle)),
    describePath(model),
  ]);
  // Most lists have nothing to say there.
  const table = [HEADINGS, ...rows];
  const isNeeded = rows.some((row) => row[REASON] !== "");
  return headedTable(isNeeded ? table : table.map((row) => row.toSpliced(REASON, 1)), [1, 3, 5]);
}

/** The first clause of what keeps a model from running. */
function shortReason(obstacle = ""): string {
  const [clause] = obstacle.split(/[,;:.(]\s/, 1);
  return clause.length > REASON_LENGTH ? `${clause.slice(0, REASON_LENGTH - 1)}…` : clause;
}

function describeFit(overview: LookedAt["overview"]): string {
  const { estimate, obstacle } = overview ?? {};
  if (obstacle !== undefined) return "cannot run";
  if (estimate === undefined) return "";
  if (!estimate.fits) return "no";
  const { contextTokens, trainedTokens } = estimate;
  return contextTokens < trainedTokens ? `to ${contextTokens}` : "yes";
}

/** Two digits of what is an estimate. */
function describeSpeed(tokensPerSecond: number | undefined): string {
  return tokensPerSecond === undefined ? "" : String(Number(tokensPerSecond.toPrecision(2)));
}

function describePath({ builtIn, path, files }: StoredModel): string {
  if (builtIn) return "(built in)";
  return oneLine(path) + (files.length > 1 ? ` and ${files.length - 1} more` : "");
}

function oneLine(text: string): string {
  return printable(text).replace(/\s+/g, " ");
}

function notes({ models, card, reason }: Looked): string {
  const lines: string[] = [];
  if (card !== undefined && models.some(({ overview }) => overview?.estimate)) {
    lines.push(
      `FITS and TOKENS/S are estimates for ${card.assumed ? "a " : ""}${printable(card.name)}` +
        `${card.assumed ? ", as there is no GPU here" : ""}: its memory's bandwidth over what a ` +
        "token reads.",
    );
  } else if (reason !== undefined) {
    lines.push(`Nothing is estimated: ${printable(reason)}`);
  }
  if (models.every(({ model }) => model.builtIn)) {
    const directory = modelsDirectory();
    lines.push(
      directory === undefined
        ? NO_MODELS_DIRECTORY
        : `GGUF files in ${printable(directory)} are listed here too; \`m40 pull\` fetches some.`,
    );
  }
  return lines.map((line) => `${line}\n`).join("");
}

function asJson({ model, overview, problem }: LookedAt, { card }: Looked): Record<string, unknown> {
  const { estimate } = overview ?? {};
  return {
    name: model.name,
    // In the executable the built-in model's path means nothing to other programs.
    path: model.builtIn ? undefined : model.path,
    files: model.files.length > 1 ? model.files : undefined,
    size_bytes: model.fileBytes,
    built_in: model.builtIn,
    origin: model.origin,
    title: overview?.title,
    architecture: overview?.architecture,
    parameters: overview?.parameters,
    quantisation: overview?.quantisation,
    context_tokens: overview?.contextTokens,
    estimate: estimate && {
      card: card?.name,
      card_is_here: !card?.assumed,
      fits: estimate.fits,
      context_tokens: estimate.contextTokens,
      tokens_per_second: estimate.tokensPerSecond,
    },
    obstacle: overview?.obstacle,
    error: problem,
  };
}
