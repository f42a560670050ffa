import { MAX_TOP_LOGPROBS, OutputStatus as Statuses, SAMPLE } from "./structs.ts";

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

/** An output, as the step's block asks for it. */
export interface WantedOutput {
  readonly kind: OutputKind;
  /** Of a sample: how many of the likeliest tokens' log-probabilities it asks for. */
  readonly topLogprobs: number;
  /** Of a sample: whether it asks for the token's surprise. */
  readonly surprise: boolean;
}

/** The names of the statuses by their numbers. */
export const STATUS_NAMES = Object.keys(Statuses) as OutputStatus[];

/**
 * What the library says of an output that is a sample: its status, and its `m40_sample` at `at` bytes of the view. By
 * hand, because it is done for every token of every sequence.
 */
export function readSample(
  view: DataView,
  status: number,
  at: number,
  { topLogprobs, surprise }: WantedOutput,
): StepOutput {
  if (status !== Statuses.ok) return { status: STATUS_NAMES[status] };
  const { fields } = SAMPLE;
  const top = [];
  for (let i = 0; i < Math.min(topLogprobs, MAX_TOP_LOGPROBS); i++) {
    top.push({
      token: view.getInt32(at + fields.top_tokens.offset + 4 * i, true),
      logprob: view.getFloat32(at + fields.top_logprobs.offset + 4 * i, true),
    });
  }
  const sample: Sample = {
    token: view.getInt32(at + fields.token.offset, true),
    logprob: view.getFloat32(at + fields.logprob.offset, true),
    top,
    ...surprise && { surprise: view.getFloat32(at + fields.surprise.offset, true) },
  };
  return { status: "ok", sample };
}
