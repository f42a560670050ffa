import { HttpError } from "../errors.ts";
import { acceptConnections } from "./accept.ts";
import { BodyMemory } from "./body_memory.ts";
import { Connection } from "./connection.ts";
import type { HttpHandler, Phase } from "./exchange.ts";
import type { HttpLimits } from "./limits.ts";
import { PerTurn } from "./turn_share.ts";

/** Connections over the limit that are refused at the same time; the first of more is closed. */
const MAX_REFUSED = 16;

/** Connections that are evicted at a time when the system has no descriptor for a new one. */
const SHORTAGE_BATCH = 8;

/** The connections that are accepted in one turn of the event loop: they may all be there at once. */
const accepts = new PerTurn(32);

/** How often connections are looked through for those that take too long, in milliseconds. */
const CHECK_MS = 500;

/** A check that comes so much too late, in milliseconds, shows that the server stood still. */
const LATE_MS = 250;

/** How long a client must have kept the server waiting before it can be evicted, in milliseconds. */
const SLOW_MS = 250;

/** How long a connection is spared that is new, or has begun something new, in milliseconds. */
const FRESH_MS = 250;

/** What is evicted for a new connection when there are too many, the first of them first. */
const EVICTED: readonly Phase[] = ["lingering", "idle", "head", "body"];

/**
 * An HTTP/1.1 server that no client can keep from serving the others. Connections are bounded in number:
 * when there are as many as there may be, the one is evicted that has been idle, or half-sent its
 * request, the longest, then the one that reads its answer the slowest; where all are being answered and
 * read, a new one is answered 503.
 */
export class HttpServer {
  /** Resolves after {@link close}; rejects when the listener was lost. */
  readonly accepting: Promise<void>;
  private readonly connections = new Set<Connection>();
  /** Those over the limit, on their way out. */
  private readonly refused = new Set<Connection>();
  private closing = false;
  private readonly timer: number;
  private checked = performance.now();
  private readonly bodies: BodyMemory;
  private readonly ended = Promise.withResolvers<void>();

  constructor(
    private readonly listener: Deno.TcpListener,
    private readonly handler: HttpHandler,
    private readonly limits: HttpLimits,
  ) {
    this.bodies = new BodyMemory(limits.bodiesBytes);
    this.timer = setInterval(() => this.checkTime(), CHECK_MS);
    this.accepting = acceptConnections(listener, {
      accepted: (socket) => {
        this.admit(socket);
        return accepts.take();
      },
      closed: () => this.closing,
      shortage: () => {
        for (let i = 0; i < SHORTAGE_BATCH && this.evict(); i++);
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
      for (const connection of this.all()) connection.end();
      this.endWhenEmpty();
    }
    return this.ended.promise;
  }

  /** Has the answers that are on their way end early, and says so to their clients. */
  abortAnswers(): void {
    for (const connection of this.connections) connection.abortAnswer();
  }

  /** Closes all connections as they are. */
  closeConnections(): void {
    for (const connection of this.all()) connection.close();
  }

  /** Takes a connection in, or refuses it. */
  private admit(socket: Deno.TcpConn): void {
    if (this.closing) return socket.close();
    const full = this.connections.size >= this.limits.connections;
    let connection: Connection;
    try {
      connection = new Connection(socket, this.handler, this.limits, this.bodies);
    } catch {
      // It was reset already.
      return socket.close();
    }
    if (full && !this.evict()) {
      this.keep(connection, this.refused, connection.refuse(tooMany(this.limits.connections)));
      if (this.refused.size > MAX_REFUSED) this.drop(this.refused.values().next().value!);
    } else {
      this.keep(connection, this.connections, connection.run());
    }
  }

  private keep(connection: Connection, among: Set<Connection>, served: Promise<void>): void {
    among.add(connection);
    served.finally(() => {
      among.delete(connection);
      this.endWhenEmpty();
    });
  }

  private *all(): Generator<Connection> {
    yield* this.connections;
    yield* this.refused;
  }

  /** Closes the connection that can best be done without; false when all are being answered and read. */
  private evict(): boolean {
    // What has only just come may not have been read yet: it goes after those that had their time.
    const chosen = this.leastBusy(performance.now() - FRESH_MS) ?? this.slowest() ??
      this.leastBusy(Infinity);
    if (chosen === undefined) return false;
    this.drop(chosen);
    return true;
  }

  /** Of the connections that are not being answered the one that can best be done without, if it is that since long ago. */
  private leastBusy(before: number): Connection | undefined {
    let chosen: Connection | undefined;
    let rank = EVICTED.length;
    for (const connection of this.connections) {
      const at = EVICTED.indexOf(connection.phase);
      if (at < 0 || at > rank || connection.since > before) continue;
      if (at === rank && connection.since >= chosen!.since) continue;
      chosen = connection;
      rank = at;
    }
    return chosen;
  }

  /** The connection whose client has kept the server waiting the longest for it to read its answer. */
  private slowest(): Connection | undefined {
    const now = performance.now();
    let slowest: Connection | undefined;
    let longest = SLOW_MS;
    for (const connection of this.connections) {
      const waited = connection.waitedMs(now);
      if (waited < longest) continue;
      slowest = connection;
      longest = waited;
    }
    return slowest;
  }

  private drop(connection: Connection): void {
    connection.close();
    this.connections.delete(connection);
    this.refused.delete(connection);
  }

  /** Ends what takes too long. The time in which the server stood still is nobody's. */
  private checkTime(): void {
    const now = performance.now();
    const passed = now - this.checked;
    this.checked = now;
    for (const connection of this.all()) {
      if (passed > CHECK_MS + LATE_MS) connection.postpone(passed);
      connection.checkTime(now);
    }
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
