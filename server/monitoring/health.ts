import type { Context, Hono } from "hono";
import { z } from "zod";
import type { ServerContext, ServerEnv } from "../context.ts";
import { busy, type Models } from "../models/mod.ts";
import { get } from "../route.ts";

/** The answer of `GET /health` and `GET /ready`. */
export const Health = z.union([
  z.strictObject({
    status: z.enum(["ok", "draining"]),
    running: z.int().min(0).describe("Sequences that run."),
    waiting: z.int().min(0).describe(
      "Sequences that wait for their turn, and requests that wait for their model.",
    ),
    lost: z.string().optional().describe(
      "What a device was lost by, or why it was unavailable, until a model is loaded again, which the next request tries.",
    ),
    lost_replicas: z.int().min(0).optional().describe(
      "Replicas of models that are lost or loaded again, while others compute; absent where none is.",
    ),
  }),
  z.strictObject({
    status: z.literal("failed"),
    reason: z.string().describe("What became of the device, or of the models."),
  }),
]).meta({ id: "Health" });
export type Health = z.output<typeof Health>;

function lostReplicas(models: Models): number {
  return models.loaded()
    .reduce((sum, { engine }) => sum + (engine?.status().lostReplicas?.length ?? 0), 0);
}

/**
 * `GET /health` and `GET /ready`, for a service manager and a load balancer. They need no key, so they reveal nothing
 * of what is served.
 *
 * - `/health` asks whether the server is alive: 200 while it can work or start again, also while it drains
 *   and while no model is in memory; 503 when the device is lost permanently, or again and again.
 * - `/ready` asks whether it takes requests: 200 while it does; 503 when it drains or has failed.
 */
export function healthRoutes(app: Hono<ServerEnv>, server: ServerContext): void {
  const state = (c: Context<ServerEnv>): Health => {
    const { models } = server;
    const reason = models.failure();
    if (reason !== undefined) return { status: "failed", reason };
    const { running, waiting } = busy(models);
    return {
      status: c.env.drain?.active ? "draining" : "ok",
      running,
      waiting,
      lost: models.lost(),
      lost_replicas: lostReplicas(models) || undefined,
    };
  };
  get(app, "/health", (c) => {
    const body = state(c);
    return c.json(body, body.status === "failed" ? 503 : 200);
  });
  get(app, "/ready", (c) => {
    const body = state(c);
    return c.json(body, body.status === "ok" ? 200 : 503);
  });
}
