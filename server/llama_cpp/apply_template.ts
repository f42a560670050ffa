/**
 * The prompt that a conversation becomes, in whichever dialect it comes, and what was found out about the template.
 *
 * @module
 */
import type { Hono } from "hono";
import { z } from "zod";
import { type ChatRequest, ROLES } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { chatFormat, modelFields, ModelRequest } from "../answer/mod.ts";
import {
  chatRequest as anthropicChat,
  CountTokensRequest,
  HOSTED_BLOCK,
} from "../anthropic/mod.ts";
import { chatRequest as ollamaChat, OllamaChatRequest, ownName } from "../ollama/mod.ts";
import { chatRequest, conversationFields } from "../openai/mod.ts";
import {
  InputTokensRequest,
  readConversation,
  type ResponseStore,
} from "../openai/responses/mod.ts";
import { parseBody, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";

/** The body of `POST /apply-template`, where it is none of another dialect. */
export const ApplyTemplateRequest = z.object(
  { ...modelFields, ...conversationFields },
  wants("a JSON object"),
).meta({ id: "ApplyTemplateRequest" });

const DIALECTS = ["chat", "responses", "anthropic", "ollama"] as const;
type BodyDialect = typeof DIALECTS[number];

const takes = (description: string) => z.boolean().describe(description);

/** The answer of `POST /apply-template`. */
export const AppliedTemplate = z.strictObject({
  prompt: z.string().describe("What the model would read."),
  dialect: z.enum(DIALECTS).describe("The dialect that the body was taken for, by its fields."),
  call_format: z.string().nullable().describe(
    "The format in which the model is to write calls; null: the prompt shows it no tools.",
  ),
  abilities: z.strictObject({
    shows_messages: takes("Whether the template shows what a user says."),
    parts: z.array(z.enum(ROLES)).describe(
      "The roles whose content may have several parts; others get one text.",
    ),
    developer: takes("Whether it knows developers; else they are as the system."),
    order: z.record(z.string(), z.boolean()).describe(
      "Which role it takes after which. What it does not take is shown in another order.",
    ),
    tools: takes("Whether it shows tools."),
    results: takes("Whether it shows what came of calls."),
    calls: z.enum(["object", "text"]).nullable().describe(
      "How it takes a call's arguments; null: it shows no calls.",
    ),
    several_calls: takes("Whether it shows several calls of one message."),
    call_format: z.string().describe("The format in which it writes calls."),
    efforts: z.array(z.string()).describe("The words of reasoning_effort that it distinguishes."),
  }).describe("What was found out about the template by trying."),
}).meta({ id: "AppliedTemplate" });
export type AppliedTemplate = z.output<typeof AppliedTemplate>;

/** `POST /apply-template`. */
export function applyTemplateRoute(
  app: Hono<ServerEnv>,
  server: ServerContext,
  store: ResponseStore,
): void {
  const readers: Readonly<Record<BodyDialect, (body: unknown) => Conversation>> = {
    chat: (json) => {
      const body = parseBody(ApplyTemplateRequest, json);
      return { model: body.model, chat: chatRequest(body) };
    },
    responses: (json) => {
      const body = parseBody(InputTokensRequest, json);
      return { model: body.model, chat: readConversation(body, store).chat };
    },
    anthropic: (json) => {
      const body = parseBody(CountTokensRequest, json);
      return { model: body.model, chat: anthropicChat(body) };
    },
    ollama: (json) => {
      const body = parseBody(OllamaChatRequest, json);
      return { model: body.model, chat: ollamaChat(body) };
    },
  };
  post(app, "/apply-template", async (c) => {
    const json = await readAnyType(c, server);
    const dialect = dialectOf(json);
    const { model: name, chat } = readers[dialect](json);
    // Ollama's clients put a tag behind the name.
    const asked = { model: dialect === "ollama" ? await ownName(server.models, name) : name };
    const request = new ModelRequest(c, server, asked);
    using model = await request.lease();
    const writer = chatFormat(model);
    const { text, tools, abilities } = await request.within(
      (signal) => writer.prompt(chat, signal, true),
    );
    return c.json(
      {
        prompt: text,
        dialect,
        call_format: tools?.format.name ?? null,
        abilities: abilities as AppliedTemplate["abilities"],
      } satisfies AppliedTemplate,
    );
  });
}

interface Conversation {
  readonly model?: string | null;
  readonly chat: ChatRequest;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields that one dialect has, and no other. */
const OWN_FIELDS: Readonly<Record<Exclude<BodyDialect, "chat">, readonly string[]>> = {
  responses: ["input", "instructions", "previous_response_id"],
  anthropic: ["system", "output_config", "output_format", "stop_sequences"],
  ollama: ["think", "options", "keep_alive", "format"],
};

/** Blocks of Anthropic's that others have not. */
const OWN_BLOCKS: ReadonlySet<unknown> = new Set(["tool_use", "tool_result", "redacted_thinking"]);

/** The dialect of a body, by the fields that only that dialect has. */
function dialectOf(json: unknown): BodyDialect {
  const body = fieldsOf(json);
  for (const dialect of ["responses", "anthropic", "ollama"] as const) {
    if (OWN_FIELDS[dialect].some((field) => body[field] != null)) return dialect;
  }
  const messages = listOf(body.messages).map(fieldsOf);
  const blocks = messages.flatMap(({ content }) => listOf(content).map(fieldsOf));
  const isAnthropic =
    blocks.some(({ type }) => OWN_BLOCKS.has(type) || HOSTED_BLOCK.test(String(type))) ||
    listOf(body.tools).some((tool) => fieldsOf(tool).input_schema !== undefined);
  if (isAnthropic) return "anthropic";
  const isOllama = messages.some(({ tool_name, thinking, images, tool_calls }) =>
    tool_name != null || thinking != null || images != null ||
    listOf(tool_calls).some((call) => fieldsOf(call).id === undefined)
  );
  return isOllama ? "ollama" : "chat";
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? value as Fields : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
