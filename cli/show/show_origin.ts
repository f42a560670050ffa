/** What `m40 show` says of where a model comes from, what came with it, and how fast it should be. */
import { M40Error } from "../../engine/errors.ts";
import { formatBytes } from "../terminal/mod.ts";
import type { Gguf } from "../../engine/gguf/mod.ts";
import { type Estimate, Estimator } from "../../engine/memory/mod.ts";
import type { ModelOrigin, StoredModel } from "../../engine/store/mod.ts";

/** A row of what is shown; without a value it is left out. */
export type Row = readonly [name: string, value: string | number | undefined];

/** A row for each of several values of one name. */
export function rowsOf(name: string, values: readonly string[]): Row[] {
  return values.map((value) => [name, value]);
}

/** Characters of a text that are shown. */
const SHOWN_CHARACTERS = 200;

const PLACES: Record<ModelOrigin, string> = {
  "built-in": "built in",
  "store": "the models directory",
  "path": "a path",
  "ollama": "Ollama's cache, used where it is",
  "hugging-face": "Hugging Face's cache, used where it is",
};

/** Rows about a model's files and their origin. */
export function originRows({ origin, record, recordProblem }: StoredModel): Row[] {
  const rows: Row[] = [["found in", PLACES[origin]], ["record", recordProblem]];
  if (record === undefined) return rows;
  const { source, pulledAt, system, parameters = {} } = record;
  return [
    ...rows,
    ["source", source],
    ["fetched", pulledAt.toISOString()],
    ["system message", system === undefined ? undefined : shortened(system)],
    ...Object.entries(parameters).map(([name, value]): Row => [
      `parameter ${name}`,
      shortened(value),
    ]),
  ];
}

function shortened(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? text.slice(0, SHOWN_CHARACTERS - 1) + "…" : text;
}

/** The paths of a model's files, a row each where there are several. */
export function fileRows({ files, version }: Gguf): Row[] {
  const describe = ({ path, bytes }: Gguf["files"][number]) => `${path} (${formatBytes(bytes)})`;
  const [first, ...others] = files.map(describe);
  return [
    ["file", `${first.slice(0, -1)}, GGUF version ${version})`],
    ...rowsOf("", others),
  ];
}

/** Where the template of a model's conversations comes from. */
export function templateOrigin({ metadata }: Gguf, { record }: StoredModel): string {
  const key = "tokenizer.chat_template";
  const own = [...metadata.keys()].some((one) => one === key || one.startsWith(`${key}.`));
  const ollamas = record?.template !== undefined;
  if (own) {
    return "the file's own" + (ollamas ? " (Ollama's, written in Go's language, is not used)" : "");
  }
  return ollamas
    ? "none in the file; Ollama's is written in Go's language, and not used (--chat-template)"
    : "none";
}

/** An estimate and what it is for; undefined where there is none. */
export interface CardEstimate extends Estimate {
  readonly card: Estimator["card"];
}

/** Estimates for the GPU, or a Tesla M40; nothing for a model that cannot run. */
export function estimateOf(gguf: Gguf): CardEstimate | undefined {
  try {
    using estimator = Estimator.open();
    return { ...estimator.of(gguf), card: estimator.card };
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}

/** Rows about how a model is on a card. */
export function estimateRows(
  { card, fits, contextTokens, tokensPerSecond }: CardEstimate,
): Row[] {
  const about = tokensPerSecond?.toPrecision(2);
  return [
    ["card", card.assumed ? `${card.name}, as there is no GPU here` : card.name],
    ["fits", fits ? `yes, with up to ${contextTokens} tokens of context` : "no"],
    [
      "speed",
      about &&
      `at most about ${Number(about)} tokens/s: its memory's bandwidth over what a token reads`,
    ],
  ];
}

/** The record, for scripts. */
export function recordAsJson({ record, recordProblem }: StoredModel): unknown {
  if (record === undefined) return recordProblem && { error: recordProblem };
  const { source, pulledAt, files, template, system, parameters } = record;
  const fields = { source, pulled_at: pulledAt.toISOString(), files, template, system, parameters };
  return { ...fields, error: recordProblem };
}
