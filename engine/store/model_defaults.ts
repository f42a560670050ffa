import { M40Error } from "../errors.ts";
import {
  MAX_STOP_STRINGS,
  NAMED_PARAMETERS,
  type SamplingParameters,
  validateSampling,
} from "../sampling/mod.ts";
import type { ModelRecord, ParameterValue, RecordedMessage } from "./record.ts";

/** What a model brings in addition to its file, and what holds where a request and the command line say nothing. */
export interface ModelDefaults {
  readonly sampling: Partial<SamplingParameters>;
  /** Texts that end an answer. */
  readonly stop: readonly string[];
  /** The system message of conversations that bring none. */
  readonly system?: string;
  /** What every conversation begins with, behind its system message. */
  readonly messages?: readonly RecordedMessage[];
  /** Tokens of context, where memory allows for as many. */
  readonly contextTokens?: number;
}

/** The parameters that a Modelfile may have, by Ollama's names: m40's own as well that are numbers. */
const SAMPLING = new Map(
  NAMED_PARAMETERS.filter(({ type, internal }) =>
    !internal && (type === "number" || type === "seed")
  )
    .map(({ name, field, alias }) => [alias ?? field, name] as const),
);

/** Those that say how Ollama is to use its machine: nothing is lost without them. */
const MACHINE = new Set(
  ("num_keep num_batch num_gpu num_gqa num_thread main_gpu low_vram f16_kv logits_all vocab_only " +
    "use_mmap use_mlock numa penalize_newline").split(" "),
);

/** Larger contexts have to be asked for. */
const MAX_CONTEXT = 2 ** 24;

/**
 * What a model's record brings as defaults.
 *
 * @param warn Gets, in a sentence each, what of it is not used.
 */
export function recordDefaults(
  record: Pick<ModelRecord, "parameters" | "system" | "messages"> | undefined,
  warn: (warning: string) => void = () => {},
): ModelDefaults {
  const sampling: Record<string, number> = {};
  let stop: readonly string[] = [];
  let contextTokens: number | undefined;
  const ignore = (name: string, reason: string) =>
    warn(`the parameter ${name} that comes with the model is not used: ${reason}`);
  for (const [name, value] of Object.entries(record?.parameters ?? {})) {
    if (MACHINE.has(name)) continue;
    const parameter = SAMPLING.get(name);
    if (name === "stop") {
      stop = stopsOf(value);
      if (stop.length > MAX_STOP_STRINGS) {
        ignore(
          "stop",
          `it has ${stop.length} texts, of which the first ${MAX_STOP_STRINGS} are taken`,
        );
        stop = stop.slice(0, MAX_STOP_STRINGS);
      }
    } else if (name === "num_ctx") {
      if (isContext(value)) contextTokens = value;
      else ignore(name, `it is ${JSON.stringify(value)}, wanted a number of tokens`);
    } else if (parameter === undefined) {
      ignore(name, "m40 has nothing like it");
    } else if (typeof value !== "number") {
      ignore(name, `it is ${JSON.stringify(value)}, wanted a number`);
    } else if (parameter === "seed" && value === -1) {
      // As Ollama has it: a new one for each request.
      continue;
    } else {
      try {
        validateSampling({ [parameter]: value }, 0);
        sampling[parameter] = value;
      } catch (error) {
        if (!(error instanceof M40Error)) throw error;
        ignore(name, error.message);
      }
    }
  }
  const system = record?.system?.trim() ? record.system : undefined;
  return { sampling, stop, system, messages: record?.messages, contextTokens };
}

function stopsOf(value: ParameterValue): string[] {
  const texts = Array.isArray(value) ? value : [value];
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

function isContext(value: ParameterValue): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_CONTEXT;
}
