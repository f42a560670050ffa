import type { Hono } from "hono";
import { M40Error } from "../engine/errors.ts";
import type { ServerEnv } from "./context.ts";
import { Drain } from "./drain.ts";

/** Where a server listens and how it ends. */
export interface ServeOptions {
  /** The address, such as "127.0.0.1" (this machine alone) or "0.0.0.0" (every network). */
  hostname: string;
  /** The port; 0 takes any that is free. */
  port: number;
  /** Aborting it ends the server; see {@link serve}. */
  signal?: AbortSignal;
  /** How long running answers may go on when the server ends, in milliseconds. Default 30,000. */
  drainMs?: number;
  /** Resolves when nothing runs. Until then, or the end of that time, an ending server listens. */
  idle?: () => Promise<void>;
}

/** A server that listens. */
export interface Listening {
  /** The address it listens on. */
  hostname: string;
  /** The port it listens on. */
  port: number;
  /** Resolves when the server has ended. */
  finished: Promise<void>;
}

/** How long ended answers may take to reach clients that do not read, in milliseconds. */
const FLUSH_MS = 1000;

/**
 * Serves an app. When the signal aborts, the server drains: it still listens, so that `/health` and
 * `/ready` can say so, but refuses new generations. Answers that run may finish within the time for it
 * and are ended with an error then.
 *
 * @throws {M40Error} `io` when the address cannot be listened on, with what to do.
 */
export function serve(app: Hono<ServerEnv>, options: ServeOptions): Listening {
  const { hostname, port, signal, drainMs = 30_000, idle } = options;
  const shutdown = new AbortController();
  const drain = new Drain();
  const env: ServerEnv["Bindings"] = { shutdown: shutdown.signal, drain };
  const server = listen(hostname, port, (request) => app.fetch(request, env));

  const stop = async () => {
    drain.begin(drainMs);
    if (idle !== undefined) await within(drainMs, idle());
    const closed = server.shutdown();
    await within(drain.millisecondsLeft, closed);
    shutdown.abort();
    await within(FLUSH_MS, closed);
  };
  const stopped = new Promise<void>((resolve, reject) => {
    const begin = () => stop().then(resolve, reject);
    if (signal?.aborted) begin();
    else signal?.addEventListener("abort", begin, { once: true });
  });
  const finished = Promise.race([server.finished, stopped]);
  return { hostname: server.addr.hostname, port: server.addr.port, finished };
}

/** Waits for a promise, but no longer than this. */
async function within(milliseconds: number, promise: Promise<void>): Promise<void> {
  let timer: number | undefined;
  const timeout = new Promise<void>((resolve) => timer = setTimeout(resolve, milliseconds));
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

function listen(
  hostname: string,
  port: number,
  handler: Deno.ServeHandler<Deno.NetAddr>,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname, port, onListen() {} }, handler);
  } catch (error) {
    const where = `${hostname}:${port}`;
    if (error instanceof Deno.errors.AddrInUse) {
      throw new M40Error(
        "io",
        `The port is in use: ${where}. Stop the program that listens there, or choose another port with --port.`,
        "port",
      );
    }
    if (error instanceof Deno.errors.PermissionDenied) {
      throw new M40Error(
        "io",
        `Listening on ${where} is not permitted. Ports below 1024 are the system's; choose another with --port.`,
        "port",
      );
    }
    if (error instanceof Deno.errors.AddrNotAvailable) {
      throw new M40Error(
        "io",
        `This machine has no address ${hostname}. Use 127.0.0.1 for this machine alone, or 0.0.0.0 for every network.`,
        "host",
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new M40Error("io", `Cannot listen on ${where}: ${reason}.`, "host");
  }
}
