import { createHash } from "node:crypto";
import type { Hono } from "hono";
import { z } from "zod";
import { isModelName, modelsDirectory, readRecord } from "../../engine/store/mod.ts";
import { withAliases } from "../models/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import { get } from "../route.ts";
import { Details, type Headers, modifiedAt, type PlacedModel, placedModels } from "./details.ts";
import { taggedName } from "./names.ts";

const modelFields = {
  name: z.string().describe("With a tag, which is latest where it has none."),
  model: z.string().describe("The same."),
  size: z.int().min(0).describe("Bytes: of its file, or of what it takes in memory."),
  digest: z.string().regex(/^[0-9a-f]{64}$/).describe(
    "64 hexadecimal digits, the same as long as its file is: the file's SHA-256, where the model was pulled and " +
      "its source gave it; else that of the file's path, size and time.",
  ),
  details: Details,
};

const Tag = z.strictObject({ ...modelFields, modified_at: z.iso.datetime() });

/** The answer of `GET /api/tags`. */
export const Tags = z.strictObject({ models: z.array(Tag) }).meta({ id: "OllamaTags" });

const Running = z.strictObject({
  ...modelFields,
  expires_at: z.iso.datetime().describe(
    "When it is unloaded if it stays unused; in the year 9999: not by itself.",
  ),
  size_vram: z.int().min(0).describe("What of it is on a GPU."),
  context_length: z.int().min(1),
});

/** The answer of `GET /api/ps`. */
export const RunningModels = z.strictObject({ models: z.array(Running) })
  .meta({ id: "OllamaRunningModels" });

/** What has no end, for programs that want a date. */
const NEVER = "9999-12-31T23:59:59.000Z";

/** `GET /api/tags` and `GET /api/ps`: the models that there are, and those in memory. */
export function tagsRoutes(app: Hono<ServerEnv>, server: ServerContext, headers: Headers): void {
  get(app, "/api/tags", async (c) => {
    const models: z.output<typeof Tag>[] = [];
    for (const model of withAliases(server.models, await placedModels(server.models))) {
      models.push({
        name: taggedName(model.shown),
        model: taggedName(model.shown),
        modified_at: await modifiedAt(model, server.created),
        size: model.fileBytes ?? 0,
        digest: await digestOf(model),
        details: await headers.detailsOf(model),
      });
    }
    return c.json({ models } satisfies z.output<typeof Tags>);
  });
  get(app, "/api/ps", async (c) => {
    const models: z.output<typeof Running>[] = [];
    for (const { name, engine, state, expiresMs } of server.models.loaded()) {
      if (engine === undefined || state !== "ready") continue;
      const { plan, device, model, contextTokens } = engine;
      const expires_at = expiresMs === undefined
        ? NEVER
        : new Date(Date.now() + expiresMs).toISOString();
      models.push({
        name: taggedName(name),
        model: taggedName(name),
        size: plan.totalBytes,
        digest: await digestOf({ name, path: model.path }),
        details: await headers.detailsOf({ name, path: model.path }),
        expires_at,
        size_vram: device.backend === "cpu" ? 0 : plan.totalBytes,
        context_length: contextTokens,
      });
    }
    return c.json({ models } satisfies z.output<typeof RunningModels>);
  });
}

/**
 * Identifies a model's file: its hash, where the model's record has one. Else the hash of what is known
 * without reading the file: programs cut digits out of it, and would fail of an empty one.
 */
async function digestOf({ name, path }: PlacedModel): Promise<string> {
  const directory = modelsDirectory();
  if (directory !== undefined && isModelName(name)) {
    const sha256 = (await readRecord(directory, name)).record?.files[0]?.sha256;
    if (sha256 !== undefined) return sha256;
  }
  const place = path === undefined ? name : await Deno.realPath(path).catch(() => path);
  const { size, mtime } = path === undefined
    ? { size: 0, mtime: null }
    : await Deno.stat(path).catch(() => ({ size: 0, mtime: null }));
  const identity = JSON.stringify([place, size, mtime?.getTime() ?? 0]);
  return createHash("sha256").update(identity).digest("hex");
}
