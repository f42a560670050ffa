import type { Engine, GenerateRequest } from "../../engine/mod.ts";
import {
  SAMPLING_DEFAULTS,
  SAMPLING_RANGES,
  type SamplingParameters,
} from "../../engine/sampling/mod.ts";
import { flag, option, type OptionValues, repeatable } from "./command.ts";
import { integer, number, seed, text, type ValueType } from "./values.ts";

type NumericParameter = Exclude<
  { [K in keyof SamplingParameters]-?: SamplingParameters[K] extends number ? K : never }[
    keyof SamplingParameters
  ],
  "stream" | "mirostat"
>;

/** An option of a number that the engine knows the range of, by the name that requests have for it. */
function numeric(parameter: NumericParameter, help: string) {
  const name = parameter.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const range = SAMPLING_RANGES[name as keyof typeof SAMPLING_RANGES];
  return option(number(range), `${help}; default: ${SAMPLING_DEFAULTS[parameter]}`);
}

/** Mirostat's versions that there are: none, and the second. */
const MIROSTAT: ValueType<number> = {
  label: "0|2",
  wanted: "0 or 2",
  completes: { words: () => ["0", "2"] },
  parse: (text) => text === "0" ? 0 : text === "2" ? 2 : undefined,
};

/** How tokens are sampled: an option for each of the engine's parameters. One that is not given is the model's own. */
export const SAMPLING_OPTIONS = {
  temperature: numeric("temperature", "0 always takes the likeliest token"),
  "top-k": numeric("topK", "Sample from that many likeliest tokens; 0 or -1: from all"),
  "top-p": numeric(
    "topP",
    "Sample from the likeliest tokens that reach this probability together; 0: the likeliest",
  ),
  "min-p": numeric(
    "minP",
    "Sample from tokens that are this times as likely as the likeliest",
  ),
  "typical-p": numeric(
    "typicalP",
    "Sample from tokens about as surprising as expected that reach this probability together",
  ),
  "repetition-penalty": numeric(
    "repetitionPenalty",
    "Above 1: makes tokens that were there less likely",
  ),
  "frequency-penalty": numeric(
    "frequencyPenalty",
    "Taken from a token's logit for each time it was sampled",
  ),
  "presence-penalty": numeric(
    "presencePenalty",
    "Taken from the logits of tokens that were sampled",
  ),
  "repeat-last-n": numeric(
    "repeatLastN",
    "How many of the last tokens the penalties look at; -1: all, 0: none",
  ),
  "dry-multiplier": numeric(
    "dryMultiplier",
    "Above 0: makes tokens less likely that would go on repeating what was there (DRY)",
  ),
  "dry-base": numeric("dryBase", "How fast that grows with each token of the repetition"),
  "dry-allowed-length": numeric(
    "dryAllowedLength",
    "Tokens that may be repeated without a penalty",
  ),
  "dry-penalty-last-n": numeric(
    "dryPenaltyLastN",
    "How many of the last tokens are looked through for repetitions; -1: all, 0: none",
  ),
  "dry-sequence-breaker": repeatable(
    text(),
    'A text that no repetition goes beyond; default: line feed, ":", "\\"", "*"',
  ),
  "xtc-probability": numeric(
    "xtcProbability",
    "How often the likeliest tokens are left out, but the least likely of them (XTC)",
  ),
  "xtc-threshold": numeric("xtcThreshold", "From which probability on a token is one of those"),
  mirostat: option(MIROSTAT, "2: keeps the surprise of the answer near --mirostat-tau; default: 0"),
  "mirostat-tau": numeric("mirostatTau", "The surprise that is wanted, in bits"),
  "mirostat-eta": numeric("mirostatEta", "How fast mirostat follows the surprise"),
  "dynatemp-range": numeric(
    "dynatempRange",
    "Above 0: the temperature is so much lower where the model is sure, higher where it is not",
  ),
  "dynatemp-exponent": numeric(
    "dynatempExponent",
    "Above 1: it takes more doubt for a high temperature",
  ),
  "min-tokens": numeric("minTokens", "The answer does not end before it has so many tokens"),
  "ignore-eos": flag("Go on where the model would end the answer"),
  seed: option(
    seed(),
    "The same seed gives the same answer; default: another one each time",
  ),
};

/** What an answer is made by. */
export const ANSWER_OPTIONS = {
  "max-tokens": option(
    integer(1),
    "Tokens of the answer at most; default: what the context has room for",
  ),
  ...SAMPLING_OPTIONS,
  stop: repeatable(
    text(),
    "A text that ends the answer and is left out of it; default: the model's own",
  ),
};

/** Values of {@link ANSWER_OPTIONS}. */
export type AnswerOptions = OptionValues<typeof ANSWER_OPTIONS>;

/** The parameter of the engine that each option sets. */
const PARAMETERS = {
  temperature: "temperature",
  "top-k": "topK",
  "top-p": "topP",
  "min-p": "minP",
  "typical-p": "typicalP",
  "repetition-penalty": "repetitionPenalty",
  "frequency-penalty": "frequencyPenalty",
  "presence-penalty": "presencePenalty",
  "repeat-last-n": "repeatLastN",
  "dry-multiplier": "dryMultiplier",
  "dry-base": "dryBase",
  "dry-allowed-length": "dryAllowedLength",
  "dry-penalty-last-n": "dryPenaltyLastN",
  "dry-sequence-breaker": "drySequenceBreakers",
  "xtc-probability": "xtcProbability",
  "xtc-threshold": "xtcThreshold",
  mirostat: "mirostat",
  "mirostat-tau": "mirostatTau",
  "mirostat-eta": "mirostatEta",
  "dynatemp-range": "dynatempRange",
  "dynatemp-exponent": "dynatempExponent",
  "min-tokens": "minTokens",
  "ignore-eos": "ignoreEos",
  seed: "seed",
} as const satisfies Record<keyof typeof SAMPLING_OPTIONS, keyof SamplingParameters>;

const NAMES = Object.keys(PARAMETERS) as (keyof typeof PARAMETERS)[];

/** Whether an option's value is what it has where it was not given. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === false || Array.isArray(value) && value.length === 0;
}

/** The engine's parameters; what was not given is not in it. */
export function samplingOf(
  options: Partial<OptionValues<typeof SAMPLING_OPTIONS>>,
): Partial<SamplingParameters> {
  const given = NAMES.filter((name) => !isAbsent(options[name]));
  return Object.fromEntries(given.map((name) => [PARAMETERS[name], options[name]]));
}

/** What a request says of its answer. */
export function answerRequest(
  options: AnswerOptions,
): Pick<GenerateRequest, "maxTokens" | "stop" | "sampling"> {
  return {
    maxTokens: options["max-tokens"],
    stop: options.stop,
    sampling: samplingOf(options),
  };
}

/** What holds where an option is not given, by the options' names. */
export function answerDefaults(
  { samplingDefaults: model, stopDefaults }: Pick<Engine, "samplingDefaults" | "stopDefaults">,
): Record<string, unknown> {
  const parameters = { ...SAMPLING_DEFAULTS, ...model };
  return {
    ...Object.fromEntries(NAMES.map((name) => [name, parameters[PARAMETERS[name]]])),
    "max-tokens": "what the context has room for",
    seed: "another one each time",
    stop: stopDefaults.length > 0 ? stopDefaults : "none",
  };
}
