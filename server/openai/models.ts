import type { Hono } from "hono";
import { z } from "zod";
import { requireModel, type ServerContext, type ServerEnv } from "../context.ts";
import { route } from "../route.ts";

/** A model as `/v1/models` shows it: OpenAI's fields, and what a client has to know beside them. */
export const ModelObject = z.strictObject({
  id: z.string(),
  object: z.literal("model"),
  created: z.int().meta({ description: "When the server was started, in seconds since 1970." }),
  owned_by: z.literal("m40"),
  context_length: z.int().meta({
    description: "The most tokens that prompt and output may have together.",
  }),
  chat: z.boolean().meta({
    description: "Whether it has a chat template, so that /v1/chat/completions answers.",
  }),
}).meta({ id: "Model" });
export type ModelObject = z.output<typeof ModelObject>;

/** The answer of `GET /v1/models`. */
export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(ModelObject) })
  .meta({ id: "ModelList" });
export type ModelList = z.output<typeof ModelList>;

/** `GET /v1/models` and `GET /v1/models/{id}`. */
export function modelsRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  const model: ModelObject = {
    id: server.modelName,
    object: "model",
    created: server.created,
    owned_by: "m40",
    context_length: server.engine.contextTokens,
    chat: server.engine.chat !== undefined,
  };
  const list: ModelList = { object: "list", data: [model] };
  route(app, "/v1/models", { GET: (c) => c.json(list) });
  // A model's name may hold slashes.
  route(app, "/v1/models/:id{.+}", {
    GET: (c) => {
      requireModel(server, c.req.param("id"));
      return c.json(model);
    },
  });
}
