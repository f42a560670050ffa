import type { Context, Hono } from "hono";
import { z } from "zod";
import { readAnyType } from "../access/mod.ts";
import { modelFields, ModelRequest, SSE } from "../answer/mod.ts";
import { answerCompletion } from "../openai/mod.ts";
import { boolean, integer, parseBody, prompts, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";
import { llamaRequest, llamaSampling } from "./sampling.ts";
import { LlamaTextAnswer } from "./text_answer.ts";

/** The body of `POST /completion`. */
export const LlamaCompletionRequest = z.object({
  ...modelFields,
  prompt: prompts(1).describe("A text, or the ids of its tokens."),
  stream: boolean("Whether the text comes in pieces, as server-sent events."),
  n_probs: integer(
    0,
    20,
    "Tokens carry their log-probability and those of so many likeliest tokens.",
  ),
  return_tokens: boolean("Whether the tokens' ids are returned."),
  ...llamaSampling,
}, wants("a JSON object")).meta({ id: "LlamaCompletionRequest" });

/**
 * `POST /completion`, and `POST /completions`, which both llama.cpp's clients and OpenAI's clients (with a base URL
 * without `/v1`) use: the names of fields say which.
 */
export function llamaCompletionRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/completion", async (c) => await complete(c, server, await readAnyType(c, server)));
  post(app, "/completions", async (c) => {
    const json = await readAnyType(c, server);
    const own = typeof json === "object" && json !== null && "n_predict" in json;
    return own ? await complete(c, server, json) : await answerCompletion(c, server, json);
  });
}

async function complete(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
): Promise<Response> {
  const body = parseBody(LlamaCompletionRequest, json);
  const request = new ModelRequest(c, server, body);
  return await request.respond(completionAnswer(request, body), SSE);
}

async function completionAnswer(
  request: ModelRequest,
  body: z.output<typeof LlamaCompletionRequest>,
): Promise<LlamaTextAnswer> {
  const { engine, name } = await request.lease();
  const probabilities = body.n_probs ?? 0;
  const ready = await engine.ready({
    ...llamaRequest(body),
    ...request.ends,
    prompt: body.prompt[0],
    parseSpecial: true,
    topLogprobs: probabilities > 0 ? probabilities : undefined,
  });
  return new LlamaTextAnswer(engine.generate(ready), {
    model: name,
    returnTokens: body.return_tokens ?? false,
    tokenizer: probabilities > 0 ? engine.tokenizer : undefined,
  });
}
