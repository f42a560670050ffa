import type { Hono } from "hono";
import { z } from "zod";
import type { ChatMessage, ChatRequest } from "../../engine/mod.ts";
import { answer } from "../answer.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { conversationPrompt } from "../conversation.ts";
import { unsupported } from "../errors.ts";
import { arrayOf, ignored, string, wants } from "../fields.ts";
import { parseBody } from "../parse_body.ts";
import { route } from "../route.ts";
import { readBody } from "./body.ts";
import {
  commonFields,
  endFields,
  headFields,
  refused,
  refuseUnsupported,
  saysNothing,
  thinking,
  thinkingBudget,
  thinkingField,
} from "./fields.ts";
import { loadOrUnload } from "./load.ts";
import { ownName } from "./names.ts";
import { optionsRequest } from "./options.ts";
import { type Said, TextAnswer } from "./text_answer.ts";

const ROLES = ["system", "user", "assistant", "tool"] as const;

const Message = z.object({
  role: z.enum(ROLES, wants(ROLES.map((role) => `"${role}"`).join(", "))).meta({
    description: "Who speaks.",
  }),
  content: string("What is said."),
  thinking: string(
    "The reasoning of an assistant's message that is sent back, where the template tells it.",
  ),
  images: refused("Not supported: absent or empty."),
  tool_calls: refused("Not supported: absent or empty."),
  tool_name: ignored("Which tool a tool's message is of."),
}, wants("an object"));

/** The body of `POST /api/chat`. */
export const OllamaChatRequest = z.object({
  ...commonFields,
  messages: z.preprocess((value) => value ?? [], arrayOf(Message, "an array of messages")).meta({
    description:
      "The conversation so far. An assistant's message at its end is continued. Absent or empty: the model is " +
      "only loaded, or with keep_alive 0 unloaded.",
  }),
  tools: refused("Not supported: absent or empty."),
}, wants("a JSON object")).meta({ id: "OllamaChatRequest" });
type Body = z.output<typeof OllamaChatRequest>;

const saidFields = {
  message: z.strictObject({
    role: z.literal("assistant"),
    content: z.string(),
    ...thinkingField,
  }),
};

/** The answer of `POST /api/chat`, and the last line of its stream. */
export const OllamaChat = z.strictObject({ ...headFields, ...saidFields, ...endFields })
  .meta({ id: "OllamaChat" });

/** A line of its stream but the last. */
export const OllamaChatPiece = z.strictObject({
  ...headFields,
  ...saidFields,
  done: z.literal(false),
}).meta({ id: "OllamaChatPiece" });

const said: Said = (content, thinking) => ({
  message: thinking === ""
    ? { role: "assistant", content }
    : { role: "assistant", content, thinking },
});

/** `POST /api/chat`: a conversation. */
export function chatRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/api/chat", {
    POST: async (c) => {
      const arrived = performance.now();
      const body = parseBody(OllamaChatRequest, await readBody(c, server));
      refuseUnsupported(body, { tools: "Leave it out: there is nobody who would call them." });
      const chat = chatRequest(body);
      const model = await ownName(server.models, body.model);
      if (chat.messages.length === 0) return await loadOrUnload(c, server, model, body, said);
      const asked = { model, keep_alive: body.keep_alive, stream: body.stream ?? true };
      return await answer(c, server, asked, async (served, ends) => {
        const at = { arrived, served: performance.now() };
        const options = optionsRequest(served.engine, body);
        const budget = thinkingBudget(body.think);
        const conversation = await conversationPrompt(server, served, chat, budget, ends);
        const generation = served.engine.generate({
          ...options,
          ...conversation,
          signal: ends.signal,
        });
        return new TextAnswer(body.model ?? served.name, generation, said, at);
      });
    },
  });
}

/** @throws {HttpError} 400 naming the message and what of it cannot be read. */
function chatRequest({ messages, think }: Body): ChatRequest {
  return {
    messages: messages.map(readMessage),
    continueFinal: messages.at(-1)?.role === "assistant",
    ...thinking(think),
  };
}

function readMessage(message: Body["messages"][number], index: number): ChatMessage {
  for (const field of ["images", "tool_calls"] as const) {
    if (saysNothing(message[field])) continue;
    const param = `messages.${index}.${field}`;
    throw unsupported(
      param,
      `${param}: wanted nothing: this server reads text alone. Say in the message's content what ` +
        (field === "images" ? "is to be seen." : "was called."),
    );
  }
  const { role, content, thinking } = message;
  return {
    role,
    content: content ?? (role === "assistant" ? null : ""),
    reasoning: thinking ?? undefined,
  };
}
