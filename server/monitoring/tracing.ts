/**
 * Traces by OpenTelemetry, which Deno exports itself where OTEL_DENO is set.
 *
 * @module
 */
import type { MiddlewareHandler } from "hono";
import type { ServerEnv } from "../context.ts";
import { RequestTrace, type Tracer } from "../metrics/mod.ts";
import { exportsTraces } from "../output/mod.ts";
import { VERSION } from "../version.ts";

/** The tracer of Deno's own; undefined where OTEL_DENO does not ask for traces. */
export function denoTracer(): Tracer | undefined {
  if (!exportsTraces) return undefined;
  return Deno.telemetry.tracerProvider.getTracer("m40", VERSION);
}

/** Traces requests that ask for something: those that look at how the server is are too many. */
export function traceRequests(tracer: Tracer): MiddlewareHandler<ServerEnv> {
  return async (c, next) => {
    if (c.req.method !== "POST") return await next();
    const trace = new RequestTrace();
    c.set("trace", trace);
    await next();
    const about = { parent: c.req.header("traceparent"), prefix: c.get("prefix") };
    trace.export(tracer, `POST ${c.req.path.slice(0, 200)}`, c.res.status, about);
  };
}
