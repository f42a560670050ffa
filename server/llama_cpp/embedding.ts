import type { Context, Hono } from "hono";
import { z } from "zod";
import { readAnyType } from "../access/mod.ts";
import {
  embed,
  longAnswer,
  MAX_TEXTS,
  modelFields,
  ModelRequest,
  vectorsAsJson,
} from "../answer/mod.ts";
import { answerEmbeddings } from "../openai/mod.ts";
import { parseBody, prompts, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";

/** The body of `POST /embedding`. */
export const LlamaEmbeddingRequest = z.object({
  ...modelFields,
  content: prompts(MAX_TEXTS).describe(
    "A text, the ids of its tokens as they are, or several of either; also called input.",
  ),
}, wants("a JSON object")).meta({ id: "LlamaEmbeddingRequest" });

/** The answer of `POST /embedding`. */
export const LlamaEmbeddings = z.array(z.strictObject({
  index: z.int().min(0),
  embedding: z.tuple([z.array(z.number())]).describe("A list of one vector, of length 1."),
})).meta({ id: "LlamaEmbeddings" });

/**
 * `POST /embedding`, and `POST /embeddings`, which answers `content` as that does and `input` as `/v1/embeddings` does:
 * OpenAI's clients ask for it where their base URL has no `/v1`.
 */
export function llamaEmbeddingRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/embedding", async (c) => await vectors(c, server, await readAnyType(c, server)));
  post(app, "/embeddings", async (c) => {
    const json = await readAnyType(c, server);
    const own = typeof json === "object" && json !== null && "content" in json;
    return own ? await vectors(c, server, json) : await answerEmbeddings(c, server, json);
  });
}

async function vectors(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
): Promise<Response> {
  const { input, ...rest } = (json ?? {}) as Record<string, unknown>;
  const param = input === undefined ? "content" : "input";
  const body = parseBody(
    LlamaEmbeddingRequest,
    input === undefined ? json : { content: input, ...rest },
  );
  const request = new ModelRequest(c, server, body);
  using model = await request.lease();
  const { vectors } = await embed(request, model, body.content, { param });
  return longAnswer(vectorsAsJson(vectors, (vector, index) => ({
    index,
    embedding: [Array.from(vector)],
  })));
}
