import type { Hono } from "hono";
import type { z } from "zod";
import type { ChatRequest, Constraint } from "../../engine/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import { engineRequest, parseBody, readJson } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";
import type { TokenCount } from "./answer_schemas.ts";
import { chatRequest, reasoningBudget } from "./conversation.ts";
import { MessageAnswer } from "./message_answer.ts";
import { outputConstraint } from "./output_format.ts";
import { CountTokensRequest, MessagesRequest } from "./request_schemas.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** `POST /v1/messages` and `POST /v1/messages/count_tokens`, as Anthropic has them. */
export function messagesRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/v1/messages", async (c) => {
    const body = parseBody(MessagesRequest, await readJson(c.req.raw, server.maxBodyBytes));
    refuseUnsupported(body);
    const chat = chatRequest(body);
    const constraint = outputConstraint(body);
    const request = new ModelRequest(c, server, body);
    return await request.respond(messageAnswer(request, body, chat, constraint));
  });
  post(app, "/v1/messages/count_tokens", async (c) => {
    const body = parseBody(CountTokensRequest, await readJson(c.req.raw, server.maxBodyBytes));
    refuseUnsupported(body);
    const chat = chatRequest(body);
    const request = new ModelRequest(c, server, body);
    using model = await request.lease();
    const { prompt } = await request.conversation(model, chat, undefined);
    return c.json({ input_tokens: prompt.length } satisfies TokenCount);
  });
}

async function messageAnswer(
  request: ModelRequest,
  body: z.output<typeof MessagesRequest>,
  chat: ChatRequest,
  constraint: Constraint | undefined,
): Promise<MessageAnswer> {
  const model = await request.lease();
  const ready = await model.engine.ready({
    ...engineRequest({ ...body, stop: body.stop_sequences }),
    ...await request.conversation(model, chat, reasoningBudget(body)),
    constraint,
  });
  return new MessageAnswer(model.engine.generate(ready), {
    model: model.name,
    maxTokens: body.max_tokens,
    omitThinking: body.thinking?.display === "omitted",
  });
}
