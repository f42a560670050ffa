import type { Hono } from "hono";
import type { ChatRequest, Constraint } from "../../../engine/mod.ts";
import { ModelRequest } from "../../answer/mod.ts";
import type { ServedModel } from "../../models/mod.ts";
import {
  constraintOf,
  effortBudget,
  effortFields,
  engineRequest,
  parseBody,
  readJson,
} from "../../request/mod.ts";
import type { ServerContext, ServerEnv } from "../../context.ts";
import { HttpError, invalid } from "../../errors.ts";
import { post } from "../../route.ts";
import { messagesOf } from "./conversation.ts";
import { readInput } from "./input_items.ts";
import type { Item } from "./item_schemas.ts";
import {
  type ConversationFields,
  InputTokensRequest,
  ResponsesRequest,
} from "./request_schemas.ts";
import { ResponseAnswer } from "./response_answer.ts";
import { responseHead } from "./response_head.ts";
import type { InputTokens } from "./response_schemas.ts";
import { conversationOf, type ResponseStore, type StoredResponse } from "./store.ts";
import { textConstraint } from "./text_format.ts";
import { readTools, type ToolUse } from "./tools.ts";
import { truncatedPrompt } from "./truncation.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** Lists the types of a request's tools that are not shown to the model, at most this many. */
const LEFT_OUT_HEADER = "m40-left-out";
const MOST_TOLD = 20;

/** What a body says of the conversation. */
interface Asked {
  readonly chat: ChatRequest;
  readonly input: readonly Item[];
  readonly previous?: StoredResponse;
  readonly toolUse: ToolUse;
}

/** `POST /v1/responses` and `POST /v1/responses/input_tokens`, as OpenAI has them. */
export function responsesRoutes(
  app: Hono<ServerEnv>,
  server: ServerContext,
  store: ResponseStore,
): void {
  post(app, "/v1/responses", async (c) => {
    const body = parseBody(ResponsesRequest, await readJson(c.req.raw, server.maxBodyBytes));
    refuseUnsupported(body);
    const asked = readConversation(body, store);
    const { leftOut } = asked.toolUse;
    const constraint = onlyConstraint(body);
    const request = new ModelRequest(c, server, body);
    const response = await request.respond(
      responseAnswer(request, body, asked, constraint, store),
    );
    if (leftOut.size > 0) {
      response.headers.set(LEFT_OUT_HEADER, [...leftOut].slice(0, MOST_TOLD).join(", "));
    }
    return response;
  });
  post(app, "/v1/responses/input_tokens", async (c) => {
    const body = parseBody(InputTokensRequest, await readJson(c.req.raw, server.maxBodyBytes));
    refuseUnsupported(body);
    const asked = readConversation(body, store);
    const request = new ModelRequest(c, server, body);
    using model = await request.lease();
    const { prompt } = await conversationOfBody(request, model, body, asked.chat);
    const input_tokens = prompt.length;
    return c.json({ object: "response.input_tokens", input_tokens } satisfies InputTokens);
  });
}

async function responseAnswer(
  request: ModelRequest,
  body: ResponsesRequest,
  { chat, input, previous, toolUse: { given } }: Asked,
  constraint: Constraint | undefined,
  store: ResponseStore,
): Promise<ResponseAnswer> {
  const model = await request.lease();
  const wanted = body.max_output_tokens ?? undefined;
  const probabilities = topLogprobs(body);
  const ready = await model.engine.ready({
    ...engineRequest(body, { limits: ["max_output_tokens"] }),
    ...await conversationOfBody(request, model, body, chat, wanted),
    constraint,
    topLogprobs: probabilities,
  });
  return new ResponseAnswer(responseHead(model, body), model.engine.generate(ready), {
    given,
    tokenizer: probabilities === undefined ? undefined : model.engine.tokenizer,
    encrypted: body.include?.includes("reasoning.encrypted_content") ?? false,
    keepAliveMs: request.server.commentMs,
    keep: (response) => {
      if (body.store !== false) store.put({ response, input, previous });
    },
  });
}

/**
 * The conversation of a body: what it brings, after what was said and answered before.
 *
 * @throws {HttpError} 400 for what cannot be read, and for a response that is not kept.
 */
export function readConversation(body: ConversationFields, store: ResponseStore): Asked {
  const previous = previousResponse(body, store);
  const input = readInput(body.input, (id) => store.item(id));
  const toolUse = readTools(body);
  const before = conversationOf(previous);
  const isText = typeof body.input === "string";
  const placeOf = (index: number) =>
    index < before.length
      ? "previous_response_id"
      : isText
      ? "input"
      : `input.${index - before.length}`;
  const chat: ChatRequest = {
    messages: messagesOf(body.instructions ?? undefined, [...before, ...input], placeOf),
    ...effortFields(body.reasoning?.effort, body.chat_template_kwargs),
    templateName: body.chat_template ?? undefined,
    tools: toolUse.tools,
    toolChoice: toolUse.toolChoice,
    parallelToolCalls: body.parallel_tool_calls ?? true,
  };
  return { chat, input, previous, toolUse };
}

function previousResponse(
  { previous_response_id: id }: ConversationFields,
  store: ResponseStore,
): StoredResponse | undefined {
  if (id == null) return undefined;
  const found = store.get(id);
  if (found !== undefined) return found;
  throw new HttpError(400, "previous_response_not_found", notKept(id, store), {
    param: "previous_response_id",
  });
}

/** What a client gets that asks for an unknown response. */
export function notKept(id: string, { limits: { count, bytes } }: ResponseStore): string {
  return `There is no response ${
    JSON.stringify(id.slice(0, 80))
  } here. The server keeps the last ${count} of them, and no more ` +
    `than ${
      bytes / 2 ** 20
    } MiB, in memory until it ends; those with store false not at all. Send the whole ` +
    "conversation as input.";
}

function conversationOfBody(
  request: ModelRequest,
  model: ServedModel,
  body: ConversationFields,
  chat: ChatRequest,
  wanted?: number,
): ReturnType<ModelRequest["conversation"]> {
  const budget = body.reasoning_budget ??
    effortBudget(body.reasoning?.effort, body.chat_template_kwargs);
  const ask = (chat: ChatRequest) => request.conversation(model, chat, budget);
  if (body.truncation !== "auto") return ask(chat);
  return truncatedPrompt(chat, ask, model.engine.contextTokens, wanted);
}

/** What the answer's text must be like; undefined where the body says nothing of it. */
function onlyConstraint(body: ResponsesRequest): Constraint | undefined {
  const constraint = constraintOf(body);
  const own = textConstraint(body.text?.format);
  if (constraint === undefined || own === undefined) return constraint ?? own;
  throw invalid(
    "text.format",
    `${constraint.param} and text.format both say what the answer must be like. Send one of them.`,
  );
}

function topLogprobs({ include, top_logprobs }: ResponsesRequest): number | undefined {
  const wanted = include?.includes("message.output_text.logprobs") ?? false;
  return wanted || top_logprobs ? top_logprobs ?? 0 : undefined;
}
