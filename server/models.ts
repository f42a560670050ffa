import type { Hono } from "hono";
import { requireModel, type ServerContext, type ServerEnv } from "./context.ts";
import { route } from "./route.ts";

/** A model as `/v1/models` shows it: OpenAI's fields, and how many tokens a sequence may have. */
export interface ModelObject {
  id: string;
  object: "model";
  /** When the server was started, in seconds since 1970. */
  created: number;
  owned_by: "m40";
  /** The most tokens that prompt and output may have together. */
  context_length: number;
}

/** `GET /v1/models` and `GET /v1/models/{id}`. */
export function modelsRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  const model: ModelObject = {
    id: server.modelName,
    object: "model",
    created: server.created,
    owned_by: "m40",
    context_length: server.engine.contextTokens,
  };
  route(app, "/v1/models", { GET: (c) => c.json({ object: "list", data: [model] }) });
  // A model's name may hold slashes.
  route(app, "/v1/models/:id{.+}", {
    GET: (c) => {
      requireModel(server, c.req.param("id"));
      return c.json(model);
    },
  });
}
