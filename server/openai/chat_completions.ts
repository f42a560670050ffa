import type { Context, Hono } from "hono";
import type { GenerateRequest } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import { describe, engineRequest, parseBody, readJson } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { invalid, unsupported } from "../errors.ts";
import { post } from "../route.ts";
import { ChatAnswer } from "./chat_answer.ts";
import { chatRequest } from "./chat_messages.ts";
import { ChatCompletionRequest } from "./chat_schemas.ts";
import { LIMITS } from "./completion_schemas.ts";
import { answerHead } from "./head.ts";
import { refuseOthersFields, thinkingOf } from "./others_fields.ts";

/** `POST /v1/chat/completions`. */
export function chatCompletionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/v1/chat/completions", async (c) => {
    const json = await readJson(c.req.raw, server.maxBodyBytes);
    return await answerChat(c, server, json, false);
  });
  // As llama.cpp's server has it, for clients whose base URL has no /v1.
  post(
    app,
    "/chat/completions",
    async (c) => await answerChat(c, server, await readAnyType(c, server), true),
  );
}

/**
 * @param asLlamaCpp Whether the answer's end tells how long it took, and the seed -1 is a new one each time, as llama.cpp's
 * server has it.
 */
async function answerChat(
  c: Context<ServerEnv>,
  server: ServerContext,
  json: unknown,
  asLlamaCpp: boolean,
): Promise<Response> {
  const body = parseBody(ChatCompletionRequest, json);
  refuseUnsupported(body);
  const request = new ModelRequest(c, server, body);
  return await request.respond(chatAnswer(request, body, asLlamaCpp));
}

/** Has the engine begin: `n` times the same, each with a random stream of its own. */
async function chatAnswer(
  request: ModelRequest,
  body: ChatCompletionRequest,
  asLlamaCpp: boolean,
): Promise<ChatAnswer> {
  const model = await request.lease();
  const { engine } = model;
  const ready = await engine.ready({
    ...engineRequest(body, { limits: LIMITS, randomSeed: asLlamaCpp }),
    ...await request.conversation(model, chatRequest(body), thinkingOf(body).budget),
    topLogprobs: body.logprobs ? body.top_logprobs ?? 0 : undefined,
  });
  const requests: GenerateRequest[] = [];
  for (let stream = 0; stream < (body.n ?? 1); stream++) {
    requests.push({ ...ready, sampling: { ...ready.sampling, stream } });
  }
  const kind = body.stream ? "chat.completion.chunk" : "chat.completion";
  return new ChatAnswer(answerHead(model, "chatcmpl", kind), engine.generateAll(requests), {
    tokenizer: body.logprobs ? engine.tokenizer : undefined,
    withUsage: body.stream_options?.include_usage ?? false,
    withTimings: asLlamaCpp,
    tools: body.tools,
  });
}

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 `unsupported` naming the field; `invalid_request` for fields that contradict
 * each other.
 */
function refuseUnsupported(body: ChatCompletionRequest): void {
  if (body.functions != null && body.functions.length > 0) {
    throw unsupported(
      "functions",
      "functions are not supported: they are the older form of tools. Send tools.",
    );
  }
  const { function_call: call } = body;
  if (call != null && call !== "none" && call !== "auto") {
    throw unsupported(
      "function_call",
      `function_call ${
        describe(call)
      } is not supported: it is the older form of tool_choice. Send tool_choice.`,
    );
  }
  refuseOthersFields(body);
  if (Array.isArray(body.documents) ? body.documents.length > 0 : body.documents != null) {
    throw unsupported(
      "documents",
      "documents are not supported. Put their texts into a message, or into chat_template_kwargs where the " +
        "template shows them.",
    );
  }
  const modality = body.modalities?.find((one) => one !== "text");
  if (modality !== undefined) {
    throw unsupported(
      "modalities",
      `modalities: ${describe(modality)} is not supported. Answers are text; leave it out.`,
    );
  }
  for (const field of ["audio", "web_search_options"] as const) {
    if (body[field] != null) throw unsupported(field, `${field} is not supported. Leave it out.`);
  }
  // Clients send the 0 for none.
  if (body.top_logprobs && !body.logprobs) {
    throw invalid("top_logprobs", "top_logprobs needs logprobs. Send logprobs true with it.");
  }
}
