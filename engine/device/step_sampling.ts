import { SAMPLING } from "./structs.ts";
import type { TokenCounts } from "./token_counts.ts";

type CamelCase<S extends string> = S extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : S;

/** Fields of the record that are no numbers of {@link StepSampling}: the seed's halves, and where its lists are. */
const OTHER_FIELDS = [
  "n_top_logprobs",
  "seed_low",
  "seed_high",
  "mask",
  "first_token_count",
  "n_token_counts",
  "first_token_bias",
  "n_token_biases",
] as const;

type NumberField = Exclude<keyof typeof SAMPLING.fields, typeof OTHER_FIELDS[number]>;

/** The record's numbers, named as its fields are in m40.h. */
type SamplingNumbers = { [Field in NumberField as CamelCase<Field>]: number };

/** The numbers of a sampling record: their names in {@link StepSampling}, and in which word they are. */
export const SAMPLING_NUMBERS = Object.entries(SAMPLING.fields)
  .filter(([field]) => !(OTHER_FIELDS as readonly string[]).includes(field))
  .map(([field, { offset, type }]) => ({
    name: field.replaceAll(/_(.)/g, (_, letter) => letter.toUpperCase()) as keyof SamplingNumbers,
    word: offset / 4,
    isFloat: type === "f32",
  }));

/** How one token is sampled: the numbers of m40_sampling, which says what each does, and its lists. */
export interface StepSampling extends SamplingNumbers {
  /** How many of the likeliest tokens' log-probabilities are wanted, 0 to 20. */
  topLogprobs: number;
  /** The key of its random numbers: 64 bits. */
  seed: bigint;
  /** Tokens of the prompt and the output, and how often the output has each. */
  tokenCounts?: TokenCounts;
  /** Added to the logits of these tokens. */
  tokenBiases?: ReadonlyMap<number, number>;
  /** Bit t of word t >> 5 set: token t is allowed. Absent: all are. */
  mask?: Uint32Array;
  /** Tokens that are not allowed. */
  forbidden?: ReadonlySet<number>;
  /** The only token that is allowed. Where it is given, the mask and the forbidden tokens are ignored. */
  only?: number;
}

/** The likeliest token, and nothing else asked: most numbers change nothing where they are 0. */
export const GREEDY: StepSampling = {
  ...Object.fromEntries(SAMPLING_NUMBERS.map(({ name }) => [name, 0])) as SamplingNumbers,
  topP: 1,
  typicalP: 1,
  repetitionPenalty: 1,
  dynatempExponent: 1,
  topLogprobs: 0,
  seed: 0n,
};

/** The most tokens that a request may give biases for, and that may lose logits by repetitions. */
export const MAX_TOKEN_BIASES = 1024;
