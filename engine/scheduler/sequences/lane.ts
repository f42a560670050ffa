/**
 * One of two lanes of a device that computes prompts concurrently with decoding. Steps of one lane follow
 * each other; steps of the two overlap. Sequences that sample a token in every step are in "decode", all
 * others in "prompts" until they do.
 */
export type Lane = "decode" | "prompts";

/** Where a step is computed, where there is a choice. */
export interface StepPlace {
  readonly lane: Lane;
  /** Of a step of prompts: the share of the device that it may take, above 0 to 1; see {@link LaneOptions}. */
  readonly share: number;
}

/** Options of a scheduler whose device has two lanes. */
export interface LaneOptions {
  /** Tokens of a step of the lane "decode", and its outputs, at most: one of each sequence, and guesses. */
  readonly decodeTokens: number;
  /**
   * The share of the slots for thread blocks that prompts take while sequences decode, above 0 to 1.
   * Otherwise they take all.
   */
  readonly prefillShare: number;
}
