import type { Hono } from "hono";
import { z } from "zod";
import { loadModel, modelFields } from "../answer/mod.ts";
import { anthropicModel, pageOf, VERSION_HEADER } from "../anthropic/mod.ts";
import { type ListedModel, type ListedName, withAliases } from "../models/mod.ts";
import { parseBody, readJson, wants } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { get, type Handler, post } from "../route.ts";

/** A model as `/v1/models` shows it: OpenAI's fields, and what else a client has to know. */
export const ModelObject = z.strictObject({
  id: z.string(),
  alias_of: z.string().optional().describe(
    "The model's own name, where this is another one that the configuration gives it.",
  ),
  object: z.literal("model"),
  created: z.int().describe("When the server was started, in seconds since 1970."),
  owned_by: z.literal("m40"),
  state: z.enum(["loaded", "loading", "unloading", "unloaded"]).describe(
    "Whether it is in memory. Others are loaded on demand.",
  ),
  context_length: z.int().nullable().describe(
    "The most tokens that prompt and output may have together; null for one that is not in memory.",
  ),
  chat: z.boolean().nullable().describe(
    "Whether it has a chat template, so that /v1/chat/completions answers; null for one that is not in memory.",
  ),
  size_bytes: z.int().min(0).nullable().describe("Bytes of its file, where known."),
  expires_in_seconds: z.number().nullable().describe(
    "When it is unloaded if it stays unused; null: not by itself, or it is in use.",
  ),
}).meta({ id: "Model" });
export type ModelObject = z.output<typeof ModelObject>;

/** The answer of `GET /v1/models`. */
export const ModelList = z.strictObject({ object: z.literal("list"), data: z.array(ModelObject) })
  .meta({ id: "ModelList" });
export type ModelList = z.output<typeof ModelList>;

/** The body of `POST /v1/models/{id}/load`, which may be left out. */
export const LoadRequest = z.object(
  { keep_alive: modelFields.keep_alive },
  wants("a JSON object"),
).meta({ id: "LoadRequest" });

/** `GET /v1/models` and `/v1/models/{id}`, `POST /v1/models/{id}/load` and `/unload`. */
export function modelsRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  const { models } = server;
  const list: Handler = async (c) => {
    const data = withAliases(models, await models.list())
      .map((model) => describe(server, model));
    if (c.req.header(VERSION_HEADER) !== undefined) {
      return c.json(pageOf(data, (name) => c.req.query(name)));
    }
    return c.json({ object: "list", data } satisfies ModelList);
  };
  get(app, "/v1/models", list);
  // OpenAI's clients ask for it where their base URL has no /v1, as llama.cpp's server allows.
  get(app, "/models", list);
  post(app, "/v1/models/:id/load", async (c) => {
    const name = await models.nameOf(c.req.param("id"));
    const body = parseBody(LoadRequest, await readOptional(c.req.raw, server.maxBodyBytes));
    await loadModel(c, server, name, body.keep_alive ?? undefined);
    return c.json(await describeNamed(server, name));
  });
  post(app, "/v1/models/:id/unload", async (c) => {
    const name = await models.nameOf(c.req.param("id"));
    await models.unload(name);
    return c.json(await describeNamed(server, name));
  });
  // A model's name may hold slashes.
  get(app, "/v1/models/:id{.+}", async (c) => {
    const asked = c.req.param("id");
    const model = await describeNamed(server, await models.nameOf(asked), asked);
    return c.json(c.req.header(VERSION_HEADER) === undefined ? model : anthropicModel(model));
  });
}

async function describeNamed(
  server: ServerContext,
  name: string,
  shown = name,
): Promise<ModelObject> {
  const found = (await server.models.list()).find((model) => model.name === name);
  return describe(server, { ...found ?? { name }, shown });
}

function describe(
  server: ServerContext,
  { name, shown, fileBytes }: ListedName<ListedModel>,
): ModelObject {
  const resident = server.models.loaded().find((one) => one.name === name);
  const { engine, expiresMs } = resident ?? {};
  return {
    id: shown,
    alias_of: shown === name ? undefined : name,
    object: "model",
    created: server.created,
    owned_by: "m40",
    state: resident === undefined
      ? "unloaded"
      : resident.state === "ready"
      ? "loaded"
      : resident.state,
    context_length: engine?.contextTokens ?? null,
    chat: engine === undefined ? null : engine.chat !== undefined,
    size_bytes: fileBytes ?? null,
    expires_in_seconds: expiresMs === undefined ? null : expiresMs / 1000,
  };
}

/** The JSON of a body; an empty object where there is none. */
async function readOptional(request: Request, maxBytes: number): Promise<unknown> {
  return request.body === null ? {} : await readJson(request, maxBytes);
}
