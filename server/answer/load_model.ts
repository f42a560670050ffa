import type { Context } from "hono";
import { requestSignal, type ServerContext, type ServerEnv } from "../context.ts";
import { Deadline } from "../request/mod.ts";

/**
 * Has a model in memory.
 *
 * @param keepAliveMs How long it stays when nobody uses it; absent: as the server has it.
 * @throws {M40Error} what {@link ModelManager.load} throws; "timeout" when the request's deadline passes.
 */
export async function loadModel(
  c: Context<ServerEnv>,
  server: ServerContext,
  name: string,
  keepAliveMs: number | undefined,
): Promise<void> {
  await new Deadline(server.timeoutMs).within(
    requestSignal(c.req.raw, c.env),
    (signal) => server.models.load(name, { signal, keepAliveMs }),
    "the model was still being loaded",
  );
}
