import type { Hono } from "hono";
import { M40Error } from "../engine/errors.ts";
import type { ServerEnv } from "./context.ts";
import { Drain } from "./drain.ts";
import { HttpServer } from "./http/http_server.ts";
import { defaultLimits, type HttpLimits } from "./http/limits.ts";

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
  /** How many connections may be open at the same time. Default: {@link defaultConnections}. */
  maxConnections?: number;
  /** What a client may take; those that are absent are {@link defaultLimits}'s. */
  limits?: Partial<Omit<HttpLimits, "connections">>;
}

/** A server that listens. */
export interface Listening {
  /** The address it listens on. */
  hostname: string;
  /** The port it listens on. */
  port: number;
  /** Resolves when the server has ended; rejects when it can accept no connection any more. */
  finished: Promise<void>;
}

/** How long ended answers may take to reach clients that do not read, in milliseconds. */
const FLUSH_MS = 1000;

/**
 * Serves an app. When the signal aborts, the server drains: it still listens, so that `/health` and
 * `/ready` can say so, but refuses new generations. Answers that run may finish within the time for it
 * and are ended with an error then. What is idle or half-sent is closed as soon as nothing runs.
 *
 * @throws {M40Error} `io` when the address cannot be listened on, with what to do.
 */
export function serve(app: Hono<ServerEnv>, options: ServeOptions): Listening {
  const { signal, drainMs = 30_000, idle } = options;
  const drain = new Drain();
  const listener = listen(options.hostname, options.port);
  const { hostname, port } = listener.addr;
  const server = new HttpServer(
    listener,
    (request, { signal, halfClosed }) => app.fetch(request, { signal, halfClosed, drain }),
    { ...defaultLimits(options.maxConnections), ...options.limits },
  );

  const stop = async () => {
    drain.begin(drainMs);
    if (idle !== undefined) await within(drainMs, idle());
    await within(drain.millisecondsLeft, server.close());
    await end();
  };
  const end = async () => {
    const closed = server.close();
    server.abortAnswers();
    await within(FLUSH_MS, closed);
    server.closeConnections();
    await closed;
  };
  const stopped = new Promise<void>((resolve, reject) => {
    const begin = () => stop().then(resolve, reject);
    if (signal?.aborted) begin();
    else signal?.addEventListener("abort", begin, { once: true });
  });
  const lost = server.accepting.then(() => stopped, async (error) => {
    await end();
    throw error;
  });
  return { hostname, port, finished: Promise.race([stopped, lost]) };
}

/**
 * Checks that an address can be listened on at the moment; fails as {@link serve} does. It accepts
 * nobody: a server that ends at once might not be gone yet when the next one starts.
 */
export function assertListenable(hostname: string, port: number): void {
  listen(hostname, port).close();
}

/** Waits for a promise, but no longer than this. */
async function within(milliseconds: number, promise: Promise<void>): Promise<void> {
  let timer: number | undefined;
  const timeout = new Promise<void>((resolve) => timer = setTimeout(resolve, milliseconds));
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

function listen(hostname: string, port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
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
