import { MAX_TOKEN_BIASES } from "../device/mod.ts";

/** The range of a number: `min` to `max`, both included unless `above` excludes `min`. */
export interface Range {
  readonly min: number;
  readonly max: number;
  /** Only values above `min`. */
  readonly above?: boolean;
  readonly integer?: boolean;
}

/** The types of parameters, and what their values are. */
interface Values {
  number: number;
  boolean: boolean;
  texts: readonly string[];
  biases: ReadonlyMap<number, number>;
  seed: number | bigint;
}

/** A parameter, declared: what it may be, what it is where nothing says otherwise, and its names. */
interface Declared<T extends keyof Values = keyof Values> extends Partial<Range> {
  readonly type: T;
  /** Absent: a new one for each request. */
  readonly default?: Values[T];
  /** One or two sentences, for the API's documentation and for help: other parameters by their names in requests. */
  readonly description: string;
  /** The only values of its range that there are. */
  readonly choices?: readonly number[];
  /** The name that Ollama and llama.cpp have for it. */
  readonly alias?: string;
  /** Its flag on the command line, where that is not its name with dashes; null: it has none. */
  readonly flag?: string | null;
  /** Whether requests cannot name it. */
  readonly internal?: true;
  /** What a GGUF file has for it, after `general.sampling.`. */
  readonly gguf?: string;
}

const MOST = 2 ** 31 - 1;
/** Texts, and tokens, that a request may name to end its answer. */
export const MAX_STOP_STRINGS = 16;
export const MAX_STOP_TOKENS = 128;

const SHARE = { type: "number", min: 0, max: 1 } as const;
const UP_TO_100 = { type: "number", min: 0, max: 100 } as const;
const POSITIVE = { type: "number", min: 0, above: true, max: 10, default: 1 } as const;
const SUBTRACTED = { type: "number", min: -2, max: 2, default: 0 } as const;
/** So many of the last tokens; -1: all. */
const LAST_TOKENS = { type: "number", min: -1, max: MOST, integer: true, default: -1 } as const;

/**
 * Every parameter that says how tokens are sampled from a model's logits, in no order that matters to sampling: see
 * m40_sampling for the order in which they act. What a request may say, its documentation, the options of the command
 * line, the keys of models' files and the checks follow from this table. Names in requests are those here with
 * underscores: `top_k`.
 */
export const SAMPLING_PARAMETERS = {
  temperature: {
    type: "number",
    min: 0,
    // From some 50 on every token is as likely; frontends for role play send up to 5 with min-p.
    max: 100,
    default: 1,
    description: "Divides the logits; 0 always takes the likeliest token.",
    gguf: "temp",
  },
  topP: {
    ...SHARE,
    default: 1,
    description:
      "Only the likeliest tokens that reach this probability together; 0 is the likeliest alone.",
    gguf: "top_p",
  },
  topK: {
    type: "number",
    min: -1,
    max: 1_000_000,
    integer: true,
    default: 0,
    description: "Only so many of the likeliest tokens; 0 and -1 are no limit.",
    gguf: "top_k",
  },
  minP: {
    ...SHARE,
    default: 0,
    description: "Only tokens at least this times as likely as the likeliest.",
    gguf: "min_p",
  },
  /** Locally typical sampling, Meister et al. 2022. */
  typicalP: {
    ...SHARE,
    default: 1,
    description:
      "Only the tokens whose surprise is nearest to the entropy, until they have this probability together; 1: " +
      "all.",
  },
  repetitionPenalty: {
    ...POSITIVE,
    description: "Divides positive logits of repeated tokens, and multiplies negative ones.",
    alias: "repeat_penalty",
    gguf: "penalty_repeat",
  },
  frequencyPenalty: {
    ...SUBTRACTED,
    description: "Subtracted from a token's logit for each time that it was sampled.",
  },
  presencePenalty: {
    ...SUBTRACTED,
    description: "Subtracted from the logits of tokens that were sampled.",
  },
  repeatLastN: {
    ...LAST_TOKENS,
    description:
      "The last tokens, prompt and output, that these three penalties cover; -1: all, 0: none.",
    gguf: "penalty_last_n",
  },
  /** "Don't repeat yourself": see DryPenalties. */
  dryMultiplier: {
    ...UP_TO_100,
    default: 0,
    description:
      "Above 0, tokens that continue a repetition get lower logits (DRY): by this, times dry_base for each token " +
      "of the repetition beyond dry_allowed_length.",
  },
  dryBase: {
    type: "number",
    min: 1,
    max: 100,
    default: 1.75,
    description: "How fast the DRY penalty grows with the repetition's length.",
  },
  dryAllowedLength: {
    type: "number",
    min: 1,
    max: MOST,
    integer: true,
    default: 2,
    description: "DRY ignores repetitions of fewer tokens.",
  },
  dryPenaltyLastN: {
    ...LAST_TOKENS,
    description: "The last tokens in which DRY looks for repetitions; -1: all, 0: none.",
  },
  drySequenceBreakers: {
    type: "texts",
    default: ["\n", ":", '"', "*"],
    description: 'Texts at which a repetition ends; default "\\n", ":", "\\"" and "*".',
    flag: "dry-sequence-breaker",
  },
  xtcProbability: {
    ...SHARE,
    default: 0,
    description:
      "The probability of excluding all tokens above xtc_threshold but the least likely of them (XTC).",
    gguf: "xtc_probability",
  },
  /** Above 0.5 there are no two of them. */
  xtcThreshold: {
    ...SHARE,
    default: 0.1,
    description: "The probability from which XTC may exclude a token.",
    gguf: "xtc_threshold",
  },
  /** Basu et al. 2021. */
  mirostat: {
    type: "number",
    min: 0,
    max: 2,
    integer: true,
    choices: [0, 2],
    default: 0,
    description:
      "2: excludes surprising tokens so that the surprise stays near mirostat_tau. 0: off. 1 is not supported.",
    gguf: "mirostat",
  },
  mirostatTau: {
    ...UP_TO_100,
    default: 5,
    description: "Mirostat's target surprise, in bits.",
    gguf: "mirostat_tau",
  },
  mirostatEta: {
    ...SHARE,
    default: 0.1,
    description: "Mirostat's learning rate.",
    gguf: "mirostat_eta",
  },
  dynatempRange: {
    ...UP_TO_100,
    default: 0,
    description:
      "Above 0, the temperature varies by this much: lower for a certain model, higher for an uncertain one.",
  },
  dynatempExponent: {
    ...POSITIVE,
    description: "How the temperature rises with the entropy; above 1, more slowly at first.",
  },
  ignoreEos: {
    type: "boolean",
    default: false,
    description: "Never sample end tokens.",
  },
  minTokens: {
    type: "number",
    min: 0,
    max: MOST,
    integer: true,
    default: 0,
    description: "Tokens before which no end token is sampled; stop strings still end the output.",
  },
  logitBias: {
    type: "biases",
    min: -100,
    max: 100,
    default: new Map<number, number>(),
    description: `Token ids, and what is added to their logits; at most ${MAX_TOKEN_BIASES}.`,
    flag: null,
  },
  /** Beyond 2^53 a number has not all of its bits, a bigint has. */
  seed: {
    type: "seed",
    description:
      "The same seed samples the same tokens: an integer from -2^64 to 2^64, of which the low 64 bits count.",
  },
  /** Which of the seed's random streams is sampled from; no two streams of any seeds are alike. */
  stream: {
    type: "number",
    min: 0,
    max: 2 ** 32 - 1,
    integer: true,
    default: 0,
    description: "Which of the seed's random streams is sampled from.",
    internal: true,
  },
} as const satisfies Record<string, Declared>;

type Table = typeof SAMPLING_PARAMETERS;

/** The name of a parameter. */
export type SamplingParameter = keyof Table;

/** How tokens are sampled. */
export type SamplingParameters =
  & { readonly [P in Exclude<SamplingParameter, "seed">]: Values[Table[P]["type"]] }
  & { readonly seed?: Values["seed"] };

/** A parameter that is a number. */
export type NumericParameter = {
  [P in SamplingParameter]: Table[P]["type"] extends "number" ? P : never;
}[SamplingParameter];

/** A parameter's name in other letters: `topK` as `top_k`. */
export type Separated<P extends string, Separator extends string> = P extends
  `${infer Letter}${infer Rest}` ? `${Letter extends Lowercase<Letter> ? Letter
    : `${Separator}${Lowercase<Letter>}`}${Separated<Rest, Separator>}`
  : "";

/** The words of a parameter's name in small letters, with that between them. */
export function separated<P extends string, S extends string>(name: P, separator: S) {
  return name.replaceAll(/[A-Z]/g, (letter) => separator + letter.toLowerCase()) as Separated<P, S>;
}

/** A parameter with its names. */
export interface NamedParameter extends Declared {
  readonly name: SamplingParameter;
  /** As requests have it. */
  readonly field: Separated<SamplingParameter, "_">;
}

/** What a caller calls parameters, by their names in requests: `max_tokens` and those of sampling. */
export type ParameterNames = Readonly<Record<string, string | undefined>>;

/** The parameters of {@link SAMPLING_PARAMETERS}, in its order. */
export const NAMED_PARAMETERS: readonly NamedParameter[] = Object.entries(SAMPLING_PARAMETERS).map(
  ([name, declared]) => ({
    ...declared,
    name: name as SamplingParameter,
    field: separated(name as SamplingParameter, "_"),
  }),
);

/** What holds where a request does not say. */
export const SAMPLING_DEFAULTS = Object.fromEntries(
  NAMED_PARAMETERS.filter((one) => "default" in one).map((one) => [one.name, one.default]),
) as unknown as SamplingParameters;
