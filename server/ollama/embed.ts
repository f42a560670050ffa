import type { Hono } from "hono";
import { z } from "zod";
import type { Embeddings } from "../../engine/mod.ts";
import { readAnyType } from "../access/mod.ts";
import {
  dimensionsField,
  embed,
  loadModel,
  longAnswer,
  MAX_TEXTS,
  modelFields,
  ModelRequest,
  objectAsJson,
  vectorsAsJson,
} from "../answer/mod.ts";
import { boolean, parseBody, read, string, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { post } from "../route.ts";
import { nanoseconds } from "./fields.ts";
import { ownName } from "./names.ts";
import { Options } from "./options.ts";

const isString = (value: unknown): value is string => typeof value === "string";

/** The body of `POST /api/embed`. */
export const OllamaEmbedRequest = z.object({
  ...modelFields,
  input: read(
    `a string or an array of up to ${MAX_TEXTS} strings`,
    {
      anyOf: [
        { type: "string" },
        { type: "array", maxItems: MAX_TEXTS, items: { type: "string" } },
        { type: "null" },
      ],
    },
    (value): string[] | undefined => {
      if (value === undefined || value === null || value === "") return [];
      if (isString(value)) return [value];
      const texts = Array.isArray(value) && value.length <= MAX_TEXTS && value.every(isString);
      return texts ? value : undefined;
    },
  ).optional().describe("A text or several. Absent or empty: the model is only loaded."),
  truncate: boolean(
    "Whether what of a text is beyond the context is left out; false: it is refused. Default true.",
  ),
  dimensions: dimensionsField,
  options: Options,
}, wants("a JSON object")).meta({ id: "OllamaEmbedRequest" });

/** The answer of `POST /api/embed`. */
export const OllamaEmbeddings = z.strictObject({
  model: z.string().describe("The model, as it was asked for."),
  embeddings: z.array(z.array(z.number())).describe("A vector of length 1 for each text."),
  total_duration: nanoseconds("From the request's arrival to the answer"),
  load_duration: nanoseconds("What of that it waited for its model"),
  prompt_eval_count: z.int().min(0).describe("Tokens of all texts."),
}).meta({ id: "OllamaEmbeddings" });

/** The body of `POST /api/embeddings`. */
export const OllamaEmbeddingRequest = z.object({
  ...modelFields,
  prompt: string("The text. Absent or empty: the model is only loaded."),
  options: Options,
}, wants("a JSON object")).meta({ id: "OllamaEmbeddingRequest" });

/** The answer of `POST /api/embeddings`. */
export const OllamaEmbedding = z.strictObject({
  embedding: z.array(z.number()).describe("A vector of length 1."),
}).meta({ id: "OllamaEmbedding" });

/** `POST /api/embed` and the older `POST /api/embeddings`: vectors by which texts alike are found. */
export function embedRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  post(app, "/api/embed", async (c) => {
    const arrived = performance.now();
    const body = parseBody(OllamaEmbedRequest, await readAnyType(c, server));
    const { input = [], truncate, dimensions, keep_alive } = body;
    const name = await ownName(server.models, body.model);
    let served: number;
    let embedded: Embeddings = { vectors: [], tokens: 0 };
    if (input.length === 0) {
      await loadModel(c, server, name, keep_alive ?? undefined);
      served = performance.now();
    } else {
      const request = new ModelRequest(c, server, { model: name, keep_alive });
      using model = await request.lease();
      served = performance.now();
      const how = { truncate: truncate ?? true, dimensions: dimensions ?? undefined };
      embedded = await embed(request, model, input, how);
    }
    return longAnswer(objectAsJson({
      model: body.model ?? name,
      embeddings: vectorsAsJson(embedded.vectors, (vector) => Array.from(vector)),
      total_duration: Math.round((performance.now() - arrived) * 1e6),
      load_duration: Math.round((served - arrived) * 1e6),
      prompt_eval_count: embedded.tokens,
    }));
  });
  post(app, "/api/embeddings", async (c) => {
    const body = parseBody(OllamaEmbeddingRequest, await readAnyType(c, server));
    const { prompt, keep_alive } = body;
    const name = await ownName(server.models, body.model);
    if (!prompt) {
      await loadModel(c, server, name, keep_alive ?? undefined);
      return c.json({ embedding: [] } satisfies z.output<typeof OllamaEmbedding>);
    }
    const request = new ModelRequest(c, server, { model: name, keep_alive });
    using model = await request.lease();
    const { vectors: [vector] } = await embed(request, model, [prompt], { truncate: true });
    return c.json({ embedding: Array.from(vector) } satisfies z.output<typeof OllamaEmbedding>);
  });
}
