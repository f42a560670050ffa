import type { Hono } from "hono";
import { z } from "zod";
import type { Engine, GenerateRequest, Generation } from "../../engine/mod.ts";
import { type Answer, answer, modelFields } from "../answer.ts";
import { readAnyType } from "../body_of_any_type.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { constraintFields } from "../constraint_fields.ts";
import { arrayOf, boolean, integer, string, wants } from "../fields.ts";
import { encodeGap, gapTokens, requireFim, shorten } from "../fill_in_the_middle.ts";
import { chunksOf } from "../generations.ts";
import { parseBody } from "../parse_body.ts";
import { route } from "../route.ts";
import { engineRequest, samplingFields } from "../sampling_fields.ts";
import { SSE } from "../sse.ts";

const ExtraInput = z.object({
  filename: string("The file's name."),
  text: z.string(wants("a string")).meta({ description: "What is in it." }),
}, wants("an object"));

/** The body of `POST /infill`. */
export const InfillRequest = z.object({
  ...modelFields,
  input_prefix: string("The text before the gap."),
  input_suffix: string("The text after the gap."),
  input_extra: z.preprocess(
    (value) => value ?? [],
    arrayOf(ExtraInput, "an array of objects with filename and text"),
  ).meta({ description: "Other files that the model is shown, as far as there is room." }),
  prompt: string("What the gap's text begins with."),
  n_predict: integer(
    -1,
    2 ** 31,
    "Tokens drawn at most; default -1: as many as there is room for.",
  ),
  stream: boolean("Whether the text comes in pieces, as server-sent events."),
  ...samplingFields,
  ...constraintFields,
}, wants("a JSON object")).meta({ id: "InfillRequest" });
type InfillRequest = z.output<typeof InfillRequest>;

/** The answer of `POST /infill`, and the last event of its stream. */
export const Infilled = z.strictObject({
  content: z.string().meta({ description: "The gap's text; empty in a stream's last event." }),
  stop: z.literal(true),
  stop_type: z.enum(["eos", "word", "limit"]).meta({
    description: "What ended it: the model, a stop string, or the number of tokens.",
  }),
  model: z.string(),
  tokens_predicted: z.int().min(0),
  tokens_evaluated: z.int().min(0).meta({ description: "Tokens of the prompt." }),
  tokens_cached: z.int().min(0).meta({ description: "Those of them found in the prefix cache." }),
  truncated: z.boolean().meta({ description: "Whether texts were shortened to fit the context." }),
}).meta({ id: "Infilled" });
export type Infilled = z.output<typeof Infilled>;

/** An event of its stream but the last. */
export const InfilledPiece = z.strictObject({ content: z.string(), stop: z.literal(false) })
  .meta({ id: "InfilledPiece" });

/** The share of the context that is kept for the answer where a request does not say how long it may be. */
const ANSWER_SHARE = 1 / 4;

/** `POST /infill`: fills a gap in a text, for editors, in the shape of llama.cpp's server. */
export function infillRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/infill", {
    POST: async (c) => {
      const body = parseBody(InfillRequest, await readAnyType(c, server));
      return await answer(c, server, body, ({ engine, name }, { signal, deadline, onReport }) => {
        const { request, truncated } = requestOf(engine, body);
        return new InfillAnswer(
          engine.generate({ ...request, signal, ...deadline.ofEngine, onReport }),
          name,
          truncated,
        );
      }, SSE);
    },
  });
}

function requestOf(
  engine: Engine,
  body: InfillRequest,
): { request: GenerateRequest; truncated: boolean } {
  const { tokenizer, contextTokens } = engine;
  const maxTokens = (body.n_predict ?? -1) < 0 ? undefined : body.n_predict!;
  const whole = encodeGap(
    tokenizer,
    requireFim(tokenizer, "input_suffix"),
    {
      before: body.input_prefix ?? "",
      after: body.input_suffix ?? "",
      begun: body.prompt ?? "",
      parseSpecial: false,
    },
    body.input_extra.map(({ filename, text }) => ({ name: filename ?? "", text })),
  );
  const answer = Math.min(maxTokens ?? Infinity, Math.ceil(contextTokens * ANSWER_SHARE));
  const short = shorten(whole, contextTokens - answer);
  return {
    request: { ...engineRequest(body), maxTokens, prompt: gapTokens(short) },
    truncated: short.before.length < whole.before.length ||
      short.after.length < whole.after.length || short.files.length < whole.files.length,
  };
}

/** A filled gap on its way, as one answer or as events. */
class InfillAnswer implements Answer {
  readonly done: Promise<void>;

  constructor(
    private readonly generation: Generation,
    private readonly model: string,
    private readonly truncated: boolean,
  ) {
    this.done = generation.done;
  }

  cancel(): void {
    this.generation.cancel();
  }

  /** The whole answer, when it is done. */
  async whole(): Promise<Infilled> {
    let content = "";
    let last: Infilled | undefined;
    for await (const piece of this.pieces()) {
      content += piece.content;
      if (piece.stop) last = piece;
    }
    return { ...last!, content };
  }

  /** The answer's events as JSON. */
  async *events(): AsyncGenerator<string> {
    for await (const piece of this.pieces()) yield JSON.stringify(piece);
  }

  private async *pieces(): AsyncGenerator<z.output<typeof InfilledPiece> | Infilled> {
    let tokens = 0;
    for await (const { chunk } of chunksOf([this.generation])) {
      tokens += chunk.tokens.length;
      if (chunk.text !== "") yield { content: chunk.text, stop: false };
      const { finishReason, usage } = chunk;
      if (finishReason === undefined || usage === undefined) continue;
      // An end token is drawn and not told of.
      const byModel = tokens < usage.completionTokens;
      yield {
        content: "",
        stop: true,
        stop_type: finishReason === "length" ? "limit" : byModel ? "eos" : "word",
        model: this.model,
        tokens_predicted: usage.completionTokens,
        tokens_evaluated: usage.promptTokens,
        tokens_cached: usage.cachedTokens,
        truncated: this.truncated,
      };
    }
  }
}
