import { HttpError } from "../errors.ts";
import { acceptConnections } from "./accept.ts";
import { Connection } from "./connection.ts";
import type { HttpHandler, Phase } from "./exchange.ts";
import type { HttpLimits } from "./limits.ts";

/** Connections over the limit that are told so at the same time. */
const MAX_REFUSED = 8;

/** Connections that give way at a time when the system has no descriptor for a new one. */
const SHORTAGE_BATCH = 8;

/** How often connections are looked through for those that take too long, in milliseconds. */
const CHECK_MS = 500;

/** What gives way to a new connection when there are too many, the first of them first. */
const GIVE_WAY: readonly Phase[] = ["lingering", "idle", "head", "body"];

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
    this.accepting = acceptConnections(listener, {
      accepted: (socket) => this.admit(socket),
      closed: () => this.closing,
      shortage: () => {
        for (let i = 0; i < SHORTAGE_BATCH && this.giveWay(); i++);
      },
    });
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

  /** Takes a connection in, or refuses it; resolves when there is room for another one. */
  private async admit(socket: Deno.TcpConn): Promise<void> {
    if (this.closing) return socket.close();
    const full = this.connections.size >= this.limits.connections;
    let connection: Connection;
    try {
      connection = new Connection(socket, this.handler, this.limits);
    } catch {
      // It was reset already.
      return socket.close();
    }
    if (full && !this.giveWay()) {
      this.keep(connection, this.refused, connection.refuse(tooMany(this.limits.connections)));
      while (this.refused.size >= MAX_REFUSED && !this.closing) await this.room.promise;
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
