import type { TokenCounts } from "./token_counts.ts";

/** How one token is sampled; see m40_sampling for what each does. */
export interface StepSampling {
  /** 0 takes the likeliest. */
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repetitionPenalty: number;
  frequencyPenalty: number;
  presencePenalty: number;
  typicalP: number;
  xtcProbability: number;
  xtcThreshold: number;
  dynatempRange: number;
  dynatempExponent: number;
  /** 2, or 0 for none. */
  mirostat: number;
  /** In bits. */
  mirostatMu: number;
  /** How many of the likeliest tokens' log-probabilities are wanted, 0 to 20. */
  topLogprobs: number;
  /** The key of its random numbers: 64 bits. */
  seed: bigint;
  /** Which of the seed's streams they are, 0 to 2^32 - 1: streams are independent of each other. */
  stream: number;
  /** Which number of that stream: the count of earlier samples. */
  counter: number;
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

/** The likeliest token, and nothing else asked. */
export const GREEDY: StepSampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  frequencyPenalty: 0,
  presencePenalty: 0,
  typicalP: 1,
  xtcProbability: 0,
  xtcThreshold: 0,
  dynatempRange: 0,
  dynatempExponent: 1,
  mirostat: 0,
  mirostatMu: 0,
  topLogprobs: 0,
  seed: 0n,
  stream: 0,
  counter: 0,
};

/** The most tokens that a request may give biases for, and that may lose logits by repetitions. */
export const MAX_TOKEN_BIASES = 1024;

/** More tokens than these are forbidden by a mask rather than by biases of -infinity. */
export const MOST_FORBIDDEN = 64;

/** The lists of an output: how long they are, and whether it has a mask. */
export function listsOf({ tokenCounts, tokenBiases, forbidden, mask, only }: StepSampling) {
  // The sample is given; the log-probabilities are the model's own.
  if (only !== undefined) return { counts: 0, biases: 0, forbidden: 0, masked: true };
  const nForbidden = forbidden?.size ?? 0;
  const few = nForbidden <= MOST_FORBIDDEN;
  return {
    counts: tokenCounts?.size ?? 0,
    biases: (tokenBiases?.size ?? 0) + (few ? nForbidden : 0),
    forbidden: few ? nForbidden : 0,
    masked: mask !== undefined || !few,
  };
}
