/** A token that the device sampled. */
export interface Sample {
  readonly token: number;
  /** Natural logarithm of its probability by the model. */
  readonly logprob: number;
  /** The likeliest tokens, likeliest first; as many as were asked for. */
  readonly top: readonly { readonly token: number; readonly logprob: number }[];
  /** With mirostat: how surprising it was among the tokens that it was sampled from, in bits. */
  readonly surprise?: number;
}

/**
 * What an output of a step gives: a sampled token, the logits [vocabulary], or the hidden state [hidden size] that the
 * logits are made from.
 */
export type OutputKind = "sample" | "logits" | "hidden";

/**
 * How an output went. "not_finite": the model computed a value that is no finite number;
 * "nothing_allowed": the mask forbids every token. Neither says anything of the other outputs.
 */
export type OutputStatus = "ok" | "not_finite" | "nothing_allowed";

/** What one output gave. */
export interface StepOutput {
  readonly status: OutputStatus;
  /** Of kind "sample" with status "ok". */
  readonly sample?: Sample;
  /** Of the other kinds; overwritten by the next step. */
  readonly values?: Float32Array;
}

/** What a step gives back. */
export interface StepResult {
  /** In the order of the sequences and of their outputs. */
  readonly outputs: readonly StepOutput[];
}
