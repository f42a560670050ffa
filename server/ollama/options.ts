import { z } from "zod";
import type { Constraint, Engine, GenerateRequest } from "../../engine/mod.ts";
import { HttpError } from "../errors.ts";
import { ignored, integer, wants } from "../fields.ts";
import { engineRequest, samplingFields } from "../sampling_fields.ts";

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
  repeat_penalty: repetition_penalty,
  num_predict: integer(
    -2,
    2 ** 31,
    "Tokens drawn at most; -1, -2 and absent: as many as the context has room for.",
  ),
  num_ctx: integer(
    1,
    2 ** 31,
    "Tokens of context that are wanted. The server was started with so many (--ctx); where that are fewer, and " +
      "there could be more, the request is refused. More than the model was trained for, or than there is memory " +
      "for, is as many as there can be.",
  ),
  ...MACHINE,
}, wants("an object")).nullish().meta({
  description: "How tokens are drawn, and how many. What is absent is as the model's file says.",
});

/** What of a request says how its answer is made. */
export interface Asked {
  readonly options?: z.output<typeof Options>;
  /** What the answer is held to. */
  readonly format?: Constraint | "free";
}

/**
 * What the engine is asked for by a request's options, and by what its answer is held to.
 *
 * @throws {HttpError} 400 where a longer context is wanted than there is.
 */
export function optionsRequest(
  { contextTokens, plan: { mostContextTokens } }: Engine,
  { options, format }: Asked,
): Omit<GenerateRequest, "prompt"> {
  const { num_ctx, num_predict, repeat_penalty, seed, ...rest } = options ?? {};
  // Clients ask every model for the same number; what no model could have is no reason to refuse.
  const wanted = Math.min(num_ctx ?? 0, mostContextTokens);
  if (wanted > contextTokens) {
    throw new HttpError(
      400,
      "context_length_exceeded",
      `options.num_ctx: wanted ${num_ctx} tokens of context; the model has ${contextTokens} here. Ask for no more, ` +
        `or start the server with --ctx ${wanted}.`,
      { param: "options.num_ctx" },
    );
  }
  return {
    ...engineRequest({
      ...rest,
      repetition_penalty: repeat_penalty,
      // As Ollama has it: a new one for each request.
      seed: seed === -1 ? undefined : seed,
    }),
    constraint: format === "free" ? undefined : format,
    maxTokens: num_predict == null || num_predict < 0 ? undefined : num_predict,
  };
}
