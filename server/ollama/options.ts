import { z } from "zod";
import type { Constraint, GenerateRequest } from "../../engine/mod.ts";
import { engineRequest, ignored, integer, samplingFields, wants } from "../request/mod.ts";

const { repetition_penalty, ...sameFields } = samplingFields;

/** Options that say how Ollama is to use its machine. */
const MACHINE = {
  num_keep: ignored("How much of a prompt that is too long is kept; here it is refused."),
  num_batch: ignored("How many tokens of a prompt are computed at once."),
  num_gpu: ignored("How many layers are on the GPU."),
  main_gpu: ignored("Which GPU is used."),
  num_thread: ignored("How many threads compute."),
  use_mmap: ignored("How the file is read."),
  use_mlock: ignored("Whether memory may be swapped out."),
  numa: ignored("How memory is laid out."),
  low_vram: ignored("Whether less of the GPU's memory is taken."),
  f16_kv: ignored("The type of the KV cache."),
  penalize_newline: ignored("Whether line breaks are penalised."),
  tfs_z: ignored("Ollama has it no more."),
};

/** The `options` of a request. */
export const Options = z.object({
  ...sameFields,
  seed: sameFields.seed.describe("The same seed samples the same tokens; -1: a new one each time."),
  repeat_penalty: repetition_penalty,
  num_predict: integer(
    -2,
    2 ** 31,
    "Tokens sampled at most; -1, -2 and absent: as many as the context has room for.",
  ),
  // Clients ask every model for the same number, or for all that it was trained for, whatever their prompts take.
  num_ctx: integer(
    1,
    2 ** 31,
    "Tokens of context that are wanted, which has no effect: a model has as many as it was trained for and memory " +
      "allows, or --ctx says, and what is longer than that is refused.",
  ),
  ...MACHINE,
}, wants("an object")).nullish().describe(
  "How tokens are sampled, and how many. What is absent is as the model's file says.",
);

/** What of a request says how its answer is made. */
export interface Asked {
  readonly options?: z.output<typeof Options>;
  /** What the answer is held to. */
  readonly format?: Constraint | "free";
  readonly logprobs?: boolean | null;
  readonly top_logprobs?: number | null;
}

/** What the engine is asked for by a request's options, and by what its answer is held to. */
export function optionsRequest(
  { options, format, logprobs, top_logprobs }: Asked,
): Omit<GenerateRequest, "prompt"> {
  return {
    ...engineRequest(options ?? {}, { limits: ["num_predict"], randomSeed: true }),
    constraint: format === "free" ? undefined : format,
    topLogprobs: logprobs ? top_logprobs ?? 0 : undefined,
  };
}
