import type { WantedOutput } from "./step_block.ts";
import type { OutputStatus, Sample } from "./step_result.ts";
import { MAX_TOP_LOGPROBS, OutputStatus as Statuses, SAMPLE } from "./structs.ts";

/** The names of the statuses by their numbers. */
export const STATUS_NAMES = Object.keys(Statuses) as OutputStatus[];

/** The sample at a place of a result. By hand, because it is done for every token of every sequence. */
export function readSample(view: DataView, at: number, wanted: WantedOutput): Sample {
  const { token, logprob, top_tokens, top_logprobs, surprise } = SAMPLE.fields;
  const sample = {
    token: view.getInt32(at + token.offset, true),
    logprob: view.getFloat32(at + logprob.offset, true),
    top: Array.from({ length: Math.min(wanted.topLogprobs, MAX_TOP_LOGPROBS) }, (_, i) => ({
      token: view.getInt32(at + top_tokens.offset + 4 * i, true),
      logprob: view.getFloat32(at + top_logprobs.offset + 4 * i, true),
    })),
  };
  if (!wanted.surprise) return sample;
  return { ...sample, surprise: view.getFloat32(at + surprise.offset, true) };
}
