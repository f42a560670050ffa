import type { Hono } from "hono";
import { answer, withModel } from "../answer/mod.ts";
import { conversationPrompt, engineRequest, parseBody, readJson } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { route } from "../route.ts";
import type { TokenCount } from "./answer_schemas.ts";
import { chatRequest, reasoningBudget } from "./conversation.ts";
import { MessageAnswer } from "./message_answer.ts";
import { outputConstraint } from "./output_format.ts";
import { CountTokensRequest, MessagesRequest } from "./request_schemas.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** `POST /v1/messages` and `POST /v1/messages/count_tokens`, as Anthropic has them. */
export function messagesRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/messages", {
    POST: async (c) => {
      const body = parseBody(MessagesRequest, await readJson(c.req.raw, server.maxBodyBytes));
      refuseUnsupported(body);
      const chat = chatRequest(body);
      const constraint = outputConstraint(body);
      return await answer(c, server, body, async (model, ends) => {
        const budget = reasoningBudget(body);
        const conversation = await conversationPrompt(server, model, chat, budget, ends);
        const request = await model.engine.ready({
          ...engineRequest({ ...body, stop: body.stop_sequences }),
          ...conversation,
          constraint,
          maxTokens: body.max_tokens,
          signal: ends.signal,
          onReport: ends.onReport,
        });
        const generation = model.engine.generate(request);
        return new MessageAnswer(generation, {
          model: model.name,
          maxTokens: body.max_tokens,
          omitThinking: body.thinking?.display === "omitted",
        });
      });
    },
  });
  route(app, "/v1/messages/count_tokens", {
    POST: async (c) => {
      const body = parseBody(CountTokensRequest, await readJson(c.req.raw, server.maxBodyBytes));
      refuseUnsupported(body);
      const chat = chatRequest(body);
      return await withModel(c, server, body, async (model, ends) => {
        const { prompt } = await conversationPrompt(server, model, chat, undefined, ends);
        return c.json({ input_tokens: prompt.length } satisfies TokenCount);
      });
    },
  });
}
