import { delay } from "@std/async/delay";
import type { Hono } from "hono";
import type { ServerEnv } from "./context.ts";
import { Drain } from "./drain.ts";
import { defaultLimits, type HttpLimits, HttpServer, listen } from "./http/mod.ts";
import { within } from "../engine/within.ts";

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
  /**
   * How long new requests are still taken then, while `/ready` already says that the server drains, in
   * milliseconds: time for load balancers to notice. Default 0.
   */
  noticeMs?: number;
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
 * `/ready` can say so, but refuses new generations, with a notice from when that is over. Answers that
 * run may finish within the time for it and are ended with an error then. What is idle or half-sent is
 * closed as soon as nothing runs.
 *
 * @throws {M40Error} `io` when the address cannot be listened on, with what to do.
 */
export function serve(app: Hono<ServerEnv>, options: ServeOptions): Listening {
  const { signal, drainMs = 30_000, noticeMs = 0, idle } = options;
  const drain = new Drain();
  const listener = listen(options.hostname, options.port);
  const { hostname, port } = listener.addr;
  const server = new HttpServer(
    listener,
    (request, { signal, halfClosed }) => app.fetch(request, { signal, halfClosed, drain }),
    { ...defaultLimits(options.maxConnections), ...options.limits },
  );

  const stop = async () => {
    drain.begin(drainMs, noticeMs);
    if (noticeMs > 0) await delay(noticeMs);
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
 * Checks that an address can be listened on now; fails as {@link serve} does. It accepts no connection: a server that
 * ends at once might not be gone yet when the next one starts.
 */
export function assertListenable(hostname: string, port: number, option?: string): void {
  listen(hostname, port, option).close();
}
