import type { Hono } from "hono";
import { z } from "zod";
import type { ChatMessage, GenerateRequest } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import { ModelRequest } from "../answer/mod.ts";
import type { ServedModel } from "../models/mod.ts";
import {
  boolean,
  encodeGap,
  gapTokens,
  parseBody,
  requireFim,
  string,
  wants,
} from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { unsupported } from "../errors.ts";
import { post } from "../route.ts";
import {
  commonFields,
  endFields,
  headFields,
  logprobsField,
  refused,
  refuseUnsupported,
  thinking,
  thinkingBudget,
  thinkingField,
} from "./fields.ts";
import { loadOrUnload } from "./load.ts";
import { ownName } from "./names.ts";
import { optionsRequest } from "./options.ts";
import { type Said, TextAnswer } from "./text_answer.ts";

/** The body of `POST /api/generate`. */
export const OllamaGenerateRequest = z.object({
  ...commonFields,
  prompt: string(
    "What the model is asked. Absent or empty: it is only loaded, or with keep_alive 0 unloaded.",
  ),
  suffix: string(
    "Text that comes after the answer, which fills the gap between prompt and suffix; for models whose " +
      "vocabulary has tokens for that.",
  ),
  system: string("The system message; absent: the model's own."),
  raw: boolean("Whether the prompt goes to the model as it is, without its chat template."),
  template: refused("Not supported: prompts are made by the template of the model's file."),
  context: refused("Not supported: send what was said to /api/chat."),
  images: refused("Not supported: absent or empty."),
}, wants("a JSON object")).meta({ id: "OllamaGenerateRequest" });
type Body = z.output<typeof OllamaGenerateRequest>;

const saidFields = { response: z.string(), ...thinkingField };

/** The answer of `POST /api/generate`, and the last line of its stream. */
export const OllamaGenerated = z.strictObject({
  ...headFields,
  ...saidFields,
  ...logprobsField,
  ...endFields,
})
  .meta({ id: "OllamaGenerated" });

/** A line of its stream but the last. */
export const OllamaGeneratedPiece = z.strictObject({
  ...headFields,
  ...saidFields,
  ...logprobsField,
  done: z.literal(false),
}).meta({ id: "OllamaGeneratedPiece" });

const said: Said = (response, thinking) => thinking === "" ? { response } : { response, thinking };

/** `POST /api/generate`: a prompt by itself. */
export function generateRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/api/generate", async (c) => {
    const arrived = performance.now();
    const body = parseBody(OllamaGenerateRequest, await readAnyType(c, server));
    refuse(body);
    const model = await ownName(server.models, body.model);
    if (!body.prompt && !body.suffix) return await loadOrUnload(c, server, model, body, said);
    const asked = { ...body, model, stream: body.stream ?? true };
    const request = new ModelRequest(c, server, asked);
    return await request.respond(generateAnswer(request, body, arrived));
  });
}

async function generateAnswer(
  request: ModelRequest,
  body: Body,
  arrived: number,
): Promise<TextAnswer> {
  const model = await request.lease();
  const at = { arrived, served: performance.now() };
  const ready = await model.engine.ready(await requestOf(request, model, body));
  return new TextAnswer(model, model.engine.generate(ready), body, said, at);
}

function refuse(body: Body): void {
  refuseUnsupported(body, {
    template: "Leave it out: raw true sends the prompt as it is.",
    context: "Leave it out, and send the conversation to /api/chat.",
    images: "Leave it out: this server reads text alone.",
  });
  const alone = body.raw ? "raw" : body.suffix ? "suffix" : undefined;
  for (const field of ["system", "think"] as const) {
    if (alone === undefined || !body[field]) continue;
    throw unsupported(
      field,
      `${field} together with ${alone} is not supported: no template makes the prompt then. Leave one of them out.`,
    );
  }
}

async function requestOf(
  request: ModelRequest,
  model: ServedModel,
  body: Body,
): Promise<GenerateRequest> {
  const { engine } = model;
  const { prompt, suffix, system, raw, think } = body;
  const common = { ...optionsRequest(body), ...request.ends };
  if (suffix) {
    const gap = { before: prompt ?? "", after: suffix, parseSpecial: raw ?? false };
    const fim = requireFim(engine.tokenizer, "suffix");
    return { ...common, prompt: gapTokens(await encodeGap(engine, fim, gap, [], common.signal)) };
  }
  // A model without a template reads the prompt as it is, as it does with Ollama.
  if (raw || (engine.chat === undefined && !system)) {
    return { ...common, prompt: prompt!, parseSpecial: raw ?? false };
  }
  const messages: ChatMessage[] = [
    ...system ? [{ role: "system" as const, content: system }] : [],
    { role: "user", content: prompt! },
  ];
  const chat = { messages, ...thinking(think) };
  const budget = thinkingBudget(think);
  return { ...common, ...await request.conversation(model, chat, budget) };
}
