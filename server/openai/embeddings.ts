import type { Context, Hono } from "hono";
import { Buffer } from "node:buffer";
import { z } from "zod";
import {
  dimensionsField,
  embed,
  longAnswer,
  MAX_TEXTS,
  modelFields,
  ModelRequest,
  objectAsJson,
  vectorsAsJson,
} from "../answer/mod.ts";
import { ignored, parseBody, prompts, readJson, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";

const FORMATS = ["float", "base64"] as const;

/** The body of `POST /v1/embeddings`. */
export const EmbeddingsRequest = z.object({
  ...modelFields,
  input: prompts(MAX_TEXTS).describe(
    "A text, the ids of its tokens as they are, or several of either.",
  ),
  encoding_format: z.enum(FORMATS, wants('"float" or "base64"')).nullish().describe(
    "base64: each vector as the bytes of its 32-bit floats, little end first.",
  ),
  dimensions: dimensionsField,
  user: ignored("The end user."),
}, wants("a JSON object")).meta({ id: "EmbeddingsRequest" });

const Embedding = z.strictObject({
  object: z.literal("embedding"),
  index: z.int().min(0),
  embedding: z.union([z.array(z.number()), z.string()]).describe(
    "A vector of length 1; a text where base64 was asked for.",
  ),
}).meta({ id: "Embedding" });

/** The answer of `POST /v1/embeddings`. */
export const EmbeddingList = z.strictObject({
  object: z.literal("list"),
  data: z.array(Embedding),
  model: z.string(),
  usage: z.strictObject({ prompt_tokens: z.int().min(0), total_tokens: z.int().min(0) }),
}).meta({ id: "EmbeddingList" });

/** `POST /v1/embeddings`: vectors by which texts alike are found, as OpenAI has them. */
export function embeddingsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(
    app,
    "/v1/embeddings",
    async (c) => await answerEmbeddings(c, server, await readJson(c.req.raw, server.maxBodyBytes)),
  );
}

/** Answers the JSON of a body. */
export async function answerEmbeddings(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
): Promise<Response> {
  const body = parseBody(EmbeddingsRequest, json);
  const { input, dimensions } = body;
  const request = new ModelRequest(c, server, body);
  using model = await request.lease();
  const options = { dimensions: dimensions ?? undefined };
  const { vectors, tokens } = await embed(request, model, input, options);
  const written = body.encoding_format === "base64" ? inBase64 : inNumbers;
  return longAnswer(objectAsJson({
    object: "list",
    data: vectorsAsJson(vectors, (vector, index) =>
      ({
        object: "embedding",
        index,
        embedding: written(vector),
      }) satisfies z.output<typeof Embedding>),
    model: model.name,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }));
}

function inNumbers(vector: Float32Array): number[] {
  return Array.from(vector);
}

/** Every machine that m40 runs on has the little end first. */
function inBase64({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
