import { M40Error } from "../../engine/errors.ts";
import { HttpError } from "../errors.ts";
import { Connection } from "./connection.ts";
import type { HttpHandler, Phase } from "./exchange.ts";
import type { HttpLimits } from "./limits.ts";

/** Connections over the limit that are told so at the same time. */
const MAX_REFUSED = 8;

/** Connections that give way at a time when the system has no descriptor for a new one. */
const SHORTAGE_BATCH = 8;

/** How long it is waited then, in milliseconds: a descriptor is free some time after it was closed. */
const SHORTAGE_MS = 20;

/** How often connections are looked through for those that take too long, in milliseconds. */
const CHECK_MS = 500;

/** What gives way to a new connection when there are too many, the first of them first. */
const GIVE_WAY: readonly Phase[] = ["lingering", "idle", "head", "body"];

/** Errors of accepting a connection for which the system has no room at the moment. */
const SHORTAGES: ReadonlySet<string> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

/** Errors that concern one connection that is gone before it was accepted (accept(2)). */
const GONE: ReadonlySet<string> = new Set([
  "ECONNABORTED",
  "ECONNRESET",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "EINTR",
  "ENETDOWN",
  "ENETUNREACH",
  "ENONET",
  "ENOPROTOOPT",
  "EOPNOTSUPP",
  "EPERM",
  "EPROTO",
]);

/**
 * An HTTP/1.1 server that no client can keep from serving the others. Connections are bounded in number:
 * when there are as many as there may be, the one gives way that has been idle, or half-sent its
 * request, the longest; where all are being answered, a new one is answered 503.
 */
export class HttpServer {
  /** Resolves when the server was told to {@link close}; rejects when the listener was lost. */
  readonly accepting: Promise<void>;
  private readonly connections = new Set<Connection>();
  /** Those over the limit, on their way out. */
  private readonly refused = new Set<Connection>();
  private closing = false;
  private readonly timer: number;
  private room = Promise.withResolvers<void>();
  private readonly ended = Promise.withResolvers<void>();

  constructor(
    private readonly listener: Deno.TcpListener,
    private readonly handler: HttpHandler,
    private readonly limits: HttpLimits,
  ) {
    this.timer = setInterval(() => this.checkTime(), CHECK_MS);
    this.accepting = this.accept();
  }

  /**
   * Listens no more, closes what is idle or half-sent, and lets answers that are on their way finish.
   *
   * @returns Resolves when no connection is left.
   */
  close(): Promise<void> {
    if (!this.closing) {
      this.closing = true;
      this.listener.close();
      this.room.resolve();
      for (const connection of this.all()) connection.end();
      this.endWhenEmpty();
    }
    return this.ended.promise;
  }

  /** Has the answers that are on their way end early; their clients are told so. */
  abortAnswers(): void {
    for (const connection of this.connections) connection.abortAnswer();
  }

  /** Closes all connections as they are. */
  closeConnections(): void {
    for (const connection of this.all()) connection.close();
  }

  /** @throws {M40Error} `io` when no connection can ever be accepted again. */
  private async accept(): Promise<void> {
    while (!this.closing) {
      try {
        this.admit(await this.listener.accept());
      } catch (error) {
        if (this.closing) return;
        const code = error instanceof Error && "code" in error ? String(error.code) : "";
        if (SHORTAGES.has(code)) {
          for (let i = 0; i < SHORTAGE_BATCH && this.giveWay(); i++);
          await new Promise((resolve) => setTimeout(resolve, SHORTAGE_MS));
        } else if (!GONE.has(code)) {
          throw new M40Error(
            "io",
            `The server cannot accept connections any more: ${error}. Start it again.`,
          );
        }
      }
      while (this.refused.size >= MAX_REFUSED && !this.closing) await this.room.promise;
    }
  }

  private admit(socket: Deno.TcpConn): void {
    if (this.closing) return socket.close();
    const full = this.connections.size >= this.limits.connections;
    const connection = new Connection(socket, this.handler, this.limits);
    if (full && !this.giveWay()) {
      this.keep(connection, this.refused, connection.refuse(tooMany(this.limits.connections)));
    } else {
      this.keep(connection, this.connections, connection.run());
    }
  }

  private keep(connection: Connection, among: Set<Connection>, served: Promise<void>): void {
    among.add(connection);
    served.finally(() => {
      among.delete(connection);
      this.room.resolve();
      this.room = Promise.withResolvers();
      this.endWhenEmpty();
    });
  }

  private *all(): Generator<Connection> {
    yield* this.connections;
    yield* this.refused;
  }

  /** Closes the connection that can best be done without; false when all are being answered. */
  private giveWay(): boolean {
    let chosen: Connection | undefined;
    let rank = GIVE_WAY.length;
    for (const connection of this.connections) {
      const at = GIVE_WAY.indexOf(connection.phase);
      if (at < 0 || at > rank || (at === rank && connection.since >= chosen!.since)) continue;
      chosen = connection;
      rank = at;
    }
    if (chosen === undefined) return false;
    chosen.close();
    this.connections.delete(chosen);
    return true;
  }

  private checkTime(): void {
    const now = performance.now();
    for (const connection of this.all()) connection.checkTime(now);
  }

  private endWhenEmpty(): void {
    if (!this.closing || this.connections.size + this.refused.size > 0) return;
    clearInterval(this.timer);
    this.ended.resolve();
  }
}

function tooMany(connections: number): HttpError {
  return new HttpError(
    503,
    "too_many_connections",
    `All ${connections} connections that the server may have are being answered. Try again later.`,
    { headers: { "Retry-After": "1" } },
  );
}
