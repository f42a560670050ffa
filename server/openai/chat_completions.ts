import type { Hono } from "hono";
import type { GenerateRequest } from "../../engine/mod.ts";
import { readJson } from "../body.ts";
import { requestSignal, requireModel, type ServerContext, type ServerEnv } from "../context.ts";
import { conversationPrompt } from "../conversation.ts";
import { startAll } from "../generations.ts";
import { parseBody } from "../parse_body.ts";
import { route } from "../route.ts";
import { engineRequest } from "../sampling_fields.ts";
import { eventStream } from "../sse.ts";
import { ChatAnswer } from "./chat_answer.ts";
import { chatRequest } from "./chat_messages.ts";
import { ChatCompletionRequest } from "./chat_schemas.ts";
import { refuseUnsupported } from "./chat_unsupported.ts";
import { answerHead } from "./head.ts";

/** `POST /v1/chat/completions`. */
export function chatCompletionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/chat/completions", {
    POST: async (c) => {
      const json = await readJson(c.req.raw, server.maxBodyBytes);
      const body = parseBody(ChatCompletionRequest, json);
      requireModel(server, body.model ?? undefined);
      refuseUnsupported(body);
      const signal = requestSignal(c.req.raw, c.env);
      const requests = await requestsOf(server, body, signal);
      const generations = startAll(server.engine, requests);
      const answer = new ChatAnswer(
        generations,
        body.logprobs ? server.engine.tokenizer : undefined,
      );
      if (body.stream) {
        const head = answerHead(server, "chatcmpl", "chat.completion.chunk");
        const withUsage = body.stream_options?.include_usage ?? false;
        return eventStream(
          answer.events(JSON.stringify(head), withUsage),
          () => answer.cancel(),
          { commentMs: server.commentMs, halfClosed: c.env.halfClosed },
        );
      }
      const head = answerHead(server, "chatcmpl", "chat.completion");
      return Response.json({ ...head, ...await answer.whole() });
    },
  });
}

/** What the engine is asked for: `n` times the same, each with a random stream of its own. */
async function requestsOf(
  server: ServerContext,
  body: ChatCompletionRequest,
  signal: AbortSignal,
): Promise<GenerateRequest[]> {
  const budget = body.reasoning_budget ?? undefined;
  const conversation = await conversationPrompt(server, chatRequest(body), budget, signal);
  const common = {
    ...engineRequest(body),
    ...conversation,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    topLogprobs: body.logprobs ? body.top_logprobs ?? 0 : undefined,
    signal,
  };
  return Array.from({ length: body.n ?? 1 }, (_, stream) => ({
    ...common,
    sampling: { ...common.sampling, stream },
  }));
}
