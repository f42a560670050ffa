import type { Context } from "hono";
import type { ServerContext, ServerEnv } from "../context.ts";
import { loadModel } from "../answer/mod.ts";
import type { AnswerEnd, CommonFields } from "./fields.ts";
import type { Said } from "./text_answer.ts";

/**
 * Answers a request that asks nothing of its model: it is loaded, or with `keep_alive` 0 unloaded, when the answers
 * that run are done.
 */
export async function loadOrUnload(
  c: Context<ServerEnv>,
  server: ServerContext,
  name: string,
  asked: Pick<CommonFields, "model" | "keep_alive">,
  said: Said,
): Promise<Response> {
  const arrived = performance.now();
  const unload = asked.keep_alive === 0;
  if (unload) await server.models.unload(name);
  else await loadModel(c, server, name, asked.keep_alive ?? undefined);
  const duration = Math.round((performance.now() - arrived) * 1e6);
  const end: AnswerEnd = {
    done: true,
    done_reason: unload ? "unload" : "load",
    total_duration: duration,
    load_duration: unload ? 0 : duration,
    prompt_eval_count: 0,
    prompt_eval_duration: 0,
    eval_count: 0,
    eval_duration: 0,
  };
  const created_at = new Date().toISOString();
  return c.json({ model: asked.model ?? name, created_at, ...said("", ""), ...end });
}
