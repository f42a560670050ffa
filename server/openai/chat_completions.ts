import type { Context, Hono } from "hono";
import type { GenerateRequest } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { allReady, answer, type AnswerEnds, startAll } from "../answer/mod.ts";
import type { ServedModel } from "../models/mod.ts";
import {
  conversationPrompt,
  effortBudget,
  engineRequest,
  parseBody,
  readJson,
  tokenLimit,
} from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { route } from "../route.ts";
import { ChatAnswer } from "./chat_answer.ts";
import { chatRequest } from "./chat_messages.ts";
import { customNames } from "./chat_tools.ts";
import { ChatCompletionRequest } from "./chat_schemas.ts";
import { refuseUnsupported } from "./chat_unsupported.ts";
import { answerHead } from "./head.ts";
import { thinkingOf } from "./thinking_fields.ts";

/** `POST /v1/chat/completions`. */
export function chatCompletionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/chat/completions", {
    POST: async (c) => {
      const json = await readJson(c.req.raw, server.maxBodyBytes);
      return await answerChat(c, server, json, false);
    },
  });
  // As llama.cpp's server has it, for clients whose base URL has no /v1.
  route(app, "/chat/completions", {
    POST: async (c) => await answerChat(c, server, await readAnyType(c, server), true),
  });
}

/** @param withTimings Whether the answer's end tells how long it took, as llama.cpp's server does. */
async function answerChat(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
  withTimings: boolean,
): Promise<Response> {
  const body = parseBody(ChatCompletionRequest, json);
  refuseUnsupported(body);
  return await answer(c, server, body, async (model, ends) => {
    const requests = await allReady(model.engine, await requestsOf(server, model, body, ends));
    const kind = body.stream ? "chat.completion.chunk" : "chat.completion";
    return new ChatAnswer(
      answerHead(model, "chatcmpl", kind),
      startAll(model.engine, requests),
      {
        tokenizer: body.logprobs ? model.engine.tokenizer : undefined,
        withUsage: body.stream_options?.include_usage ?? false,
        withTimings,
        custom: customNames(body.tools),
      },
    );
  });
}

/** What the engine is asked for: `n` times the same, each with a random stream of its own. */
async function requestsOf(
  server: ServerContext,
  model: ServedModel,
  body: ChatCompletionRequest,
  ends: AnswerEnds,
): Promise<GenerateRequest[]> {
  const thinking = thinkingOf(body);
  const budget = thinking.budget ?? effortBudget(thinking.effort, thinking.variables);
  const conversation = await conversationPrompt(server, model, chatRequest(body), budget, ends);
  const common = {
    ...engineRequest(body),
    ...conversation,
    maxTokens: tokenLimit(body.max_completion_tokens ?? body.max_tokens ?? body.n_predict),
    topLogprobs: body.logprobs ? body.top_logprobs ?? 0 : undefined,
    signal: ends.signal,
    onReport: ends.onReport,
  };
  return Array.from({ length: body.n ?? 1 }, (_, stream) => ({
    ...common,
    sampling: { ...common.sampling, stream },
  }));
}
