/**
 * Which of two lanes a step is for, of a device that computes prompts beside decoding: steps of one lane follow each other,
 * those of the other are computed at the same time. In the lane "decode" are those who sample a token in every step, in
 * "prompts" all others, until they do.
 */
export type Lane = "decode" | "prompts";

/** Where a step is computed, where there is a choice. */
export interface StepPlace {
  readonly lane: Lane;
  /** Of a step of prompts: the share of the device that it may take, above 0 to 1; see {@link LaneOptions}. */
  readonly share: number;
}

/** What a scheduler is told of a device with two lanes. */
export interface LaneOptions {
  /** Tokens of a step of the lane "decode", and its outputs, at most: one of each sequence, and guesses. */
  readonly decodeTokens: number;
  /**
   * The share of the places for thread blocks that prompts take while somebody decodes, above 0 to 1. When nobody does,
   * they take all.
   */
  readonly prefillShare: number;
}
