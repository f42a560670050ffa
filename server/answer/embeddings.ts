/**
 * What dialects of embeddings share: texts into vectors.
 *
 * @module
 */
import type { EmbeddingOptions, Embeddings } from "../../engine/mod.ts";
import type { ModelRequest } from "./answer.ts";
import type { ServedModel } from "../models/mod.ts";
import { integer, type Prompt } from "../request/mod.ts";

/** The most texts of one request. */
export const MAX_TEXTS = 2048;

/** How many values of each vector are wanted, alike in every dialect. */
export const dimensionsField = integer(
  1,
  2 ** 31,
  "Only so many of the first values of each vector, of length 1 again; absent, or where it has no more: all.",
);

/**
 * The vectors of texts, each a request like any other.
 *
 * @throws {M40Error} "invalid_request" for an empty text, "context_length_exceeded", "unsupported" for a model whose
 * embeddings are of another kind, "timeout" when the request's deadline passes meanwhile.
 */
export async function embed(
  request: ModelRequest,
  { engine }: ServedModel,
  texts: readonly Prompt[],
  options: Pick<EmbeddingOptions, "dimensions" | "truncate" | "param">,
): Promise<Embeddings> {
  return await request.within(
    (signal) => engine.embed(texts, { ...options, signal }),
    "its texts were still being computed",
  );
}
