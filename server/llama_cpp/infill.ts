import type { Hono } from "hono";
import { z } from "zod";
import { readAnyType } from "../access/mod.ts";
import { modelFields, ModelRequest, SSE } from "../answer/mod.ts";
import {
  arrayOf,
  boolean,
  encodeGap,
  gapTokens,
  parseBody,
  requireFim,
  shorten,
  string,
  wants,
} from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";
import { llamaRequest, llamaSampling } from "./sampling.ts";
import { LlamaTextAnswer } from "./text_answer.ts";

const ExtraInput = z.object({
  filename: string("The file's name."),
  text: z.string(wants("a string")).describe("What is in it."),
}, wants("an object"));

/** The body of `POST /infill`. */
export const InfillRequest = z.object({
  ...modelFields,
  input_prefix: string("The text before the gap."),
  input_suffix: string("The text after the gap."),
  input_extra: z.preprocess(
    (value) => value ?? [],
    arrayOf(ExtraInput, "an array of objects with filename and text"),
  ).describe("Other files that the model is shown, as far as there is room."),
  prompt: string("What the gap's text begins with."),
  stream: boolean("Whether the text comes in pieces, as server-sent events."),
  ...llamaSampling,
}, wants("a JSON object")).meta({ id: "InfillRequest" });
type InfillRequest = z.output<typeof InfillRequest>;

/** The share of the context that is kept for the answer where a request does not say how long it may be. */
const ANSWER_SHARE = 1 / 4;

/** `POST /infill`: fills a gap in a text, for editors, in the shape of llama.cpp's server. */
export function infillRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/infill", async (c) => {
    const body = parseBody(InfillRequest, await readAnyType(c, server));
    const request = new ModelRequest(c, server, body);
    return await request.respond(infillAnswer(request, body), SSE);
  });
}

async function infillAnswer(
  request: ModelRequest,
  body: InfillRequest,
): Promise<LlamaTextAnswer> {
  const { engine, name } = await request.lease();
  const { tokenizer, contextTokens } = engine;
  const asked = llamaRequest(body);
  const whole = await encodeGap(
    engine,
    requireFim(tokenizer, "input_suffix"),
    {
      before: body.input_prefix ?? "",
      after: body.input_suffix ?? "",
      started: body.prompt ?? "",
      parseSpecial: false,
    },
    body.input_extra.map(({ filename, text }) => ({ name: filename ?? "", text })),
    request.ends.signal,
  );
  const answer = Math.min(asked.maxTokens ?? Infinity, Math.ceil(contextTokens * ANSWER_SHARE));
  const short = shorten(whole, contextTokens - answer);
  const ready = await engine.ready({ ...asked, ...request.ends, prompt: gapTokens(short) });
  return new LlamaTextAnswer(engine.generate(ready), {
    model: name,
    truncated: short.before.length < whole.before.length ||
      short.after.length < whole.after.length || short.files.length < whole.files.length,
  });
}
