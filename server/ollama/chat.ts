import type { Hono } from "hono";
import { z } from "zod";
import type { ChatMessage, ChatRequest } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import { arrayOf, notShown, oneOf, parseBody, string, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { unsupported } from "../errors.ts";
import { post } from "../route.ts";
import {
  commonFields,
  endFields,
  headFields,
  logprobsField,
  refused,
  saysNothing,
  thinking,
  thinkingBudget,
  thinkingField,
} from "./fields.ts";
import { loadOrUnload } from "./load.ts";
import { ownName } from "./names.ts";
import { optionsRequest } from "./options.ts";
import { type Said, TextAnswer } from "./text_answer.ts";
import { answeredCallsField, callsField, OpenCalls, readTools, toolsField } from "./tools.ts";

const ROLES = ["system", "user", "assistant", "tool"] as const;

const Message = z.object({
  role: oneOf(ROLES).describe("The role that speaks."),
  content: string("What is said."),
  thinking: string(
    "The reasoning of an assistant's message that is sent back, where the template shows it.",
  ),
  images: refused(
    "Not supported: absent or empty. In a tool's message they are named, and not shown.",
  ),
  tool_calls: callsField,
  tool_name: string("Which tool a tool's message is of."),
  tool_call_id: string("Which call a tool's message is of, where it had an id."),
}, wants("an object"));

/** The body of `POST /api/chat`. */
export const OllamaChatRequest = z.object({
  ...commonFields,
  messages: z.preprocess((value) => value ?? [], arrayOf(Message, "an array of messages")).describe(
    "The conversation so far. An assistant's message at its end is continued. Absent or empty: the model is " +
      "only loaded, or with keep_alive 0 unloaded.",
  ),
  tools: toolsField,
}, wants("a JSON object")).meta({ id: "OllamaChatRequest" });
type Body = z.output<typeof OllamaChatRequest>;

const saidFields = {
  message: z.strictObject({
    role: z.literal("assistant"),
    content: z.string(),
    ...thinkingField,
    ...answeredCallsField,
  }),
};

/** The answer of `POST /api/chat`, and the last line of its stream. */
export const OllamaChat = z.strictObject({
  ...headFields,
  ...saidFields,
  ...logprobsField,
  ...endFields,
})
  .meta({ id: "OllamaChat" });

/** A line of its stream but the last. */
export const OllamaChatPiece = z.strictObject({
  ...headFields,
  ...saidFields,
  ...logprobsField,
  done: z.literal(false),
}).meta({ id: "OllamaChatPiece" });

const said: Said = (content, thinking, calls = []) => ({
  message: {
    role: "assistant",
    content,
    ...thinking === "" ? {} : { thinking },
    ...calls.length === 0 ? {} : { tool_calls: calls },
  },
});

/** `POST /api/chat`: a conversation. */
export function chatRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/api/chat", async (c) => {
    const arrived = performance.now();
    const body = parseBody(OllamaChatRequest, await readAnyType(c, server));
    const chat = chatRequest(body);
    const model = await ownName(server.models, body.model);
    if (chat.messages.length === 0) return await loadOrUnload(c, server, model, body, said);
    const asked = { ...body, model, stream: body.stream ?? true };
    const request = new ModelRequest(c, server, asked);
    return await request.respond(chatAnswer(request, body, chat, arrived));
  });
}

async function chatAnswer(
  request: ModelRequest,
  body: Body,
  chat: ChatRequest,
  arrived: number,
): Promise<TextAnswer> {
  const model = await request.lease();
  const at = { arrived, served: performance.now() };
  const ready = await model.engine.ready({
    ...optionsRequest(body),
    ...await request.conversation(model, chat, thinkingBudget(body.think)),
  });
  return new TextAnswer(model, model.engine.generate(ready), body, said, at);
}

/**
 * The conversation of a body.
 *
 * @throws {HttpError} 400 naming the message and what of it cannot be read.
 */
export function chatRequest({ messages, think, tools }: Body): ChatRequest {
  const open = new OpenCalls();
  const last = messages.at(-1);
  return {
    messages: messages.map((message, index) => readMessage(message, `messages.${index}`, open)),
    // What ends with calls is complete.
    continueFinal: last?.role === "assistant" && !last.tool_calls?.length,
    ...thinking(think),
    ...tools?.length ? { tools: readTools(tools) } : {},
  };
}

function readMessage(
  message: Body["messages"][number],
  at: string,
  open: OpenCalls,
): ChatMessage {
  const { role, content, thinking, images, tool_calls, tool_name, tool_call_id } = message;
  if (role !== "tool" && !saysNothing(images)) {
    throw unsupported(
      `${at}.images`,
      `${at}.images: wanted nothing: this server reads text alone. Say in the message's content what is to be seen.`,
    );
  }
  const place = `${at}.content`;
  if (role === "tool") {
    const said = saysNothing(images) ? content ?? "" : withImages(content ?? "", images);
    return { role, at: place, content: said, ...open.resultOf(tool_call_id, tool_name) };
  }
  if (role !== "assistant") return { role, at: place, content: content ?? "" };
  const toolCalls = open.read(tool_calls, `${at}.tool_calls`);
  return {
    role,
    at: place,
    content: content || (toolCalls.length > 0 ? null : content ?? null),
    reasoning: thinking ?? undefined,
    toolCalls: toolCalls.length > 0 ? toolCalls : undefined,
  };
}

/** What a tool gave, with a note on its images. */
function withImages(content: string, images: unknown): string {
  const notes = (Array.isArray(images) ? images : [images]).map(() => notShown({ kind: "image" }));
  return [...content === "" ? [] : [content], ...notes].join("\n");
}
