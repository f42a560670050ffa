import { HttpError } from "../errors.ts";
import type { BodyHolder, BodyMemory } from "./body_memory.ts";
import { Exchange, type HttpHandler, type Phase } from "./exchange.ts";
import { HeadScanner, malformed, parseHead, type RequestHead } from "./head.ts";
import { Incoming } from "./incoming.ts";
import type { HttpLimits } from "./limits.ts";
import { errorBytes } from "./response_bytes.ts";
import { PerTurn, TurnShare } from "./turn_share.ts";

const LF = 10;
const CR = 13;

/** What a request counts in a turn of the event loop, besides its bytes: see {@link TurnShare}. */
const REQUEST_BYTES = 8 * 1024;

/** The requests of all connections that are begun in one turn: each takes some tenths of a millisecond. */
const begun = new PerTurn(16);

/** What whoever still reads a request of a closed connection gets: one for all, as none is answered. */
const CLOSED = new HttpError(400, "incomplete_body", "The connection was closed.");

/** A client's connection: one request after the other, each answered before the next is read. */
export class Connection implements BodyHolder {
  /** What it is doing. */
  phase: Phase = "idle";
  /** Since when, by {@link performance.now}. */
  since: number = performance.now();
  /** What the client has sent. */
  readonly incoming: Incoming;
  /** Whether no further request is read. */
  ending = false;
  /** When the patience with the client is over. */
  private deadline: number;
  /** Since when the client keeps the server waiting that writes to it; undefined where it does not. */
  private waitingSince?: number;
  /** How long it has kept it waiting before that, in milliseconds. */
  private waited = 0;
  /** Bytes that were written. */
  private written = 0;
  private exchange?: Exchange;
  /** Its part of the event loop's turns. */
  readonly turns = new TurnShare();
  private writes = 0;
  private closed = false;

  constructor(
    private readonly socket: Deno.TcpConn,
    private readonly handler: HttpHandler,
    readonly limits: HttpLimits,
    private readonly bodies: BodyMemory,
  ) {
    // Otherwise an event would wait until the client has acknowledged the one before it.
    socket.setNoDelay(true);
    this.deadline = this.since + limits.headMs;
    this.incoming = new Incoming(
      socket,
      () => this.exchange?.halfClose(),
      () => this.close(),
    );
  }

  /** Answers requests until the client or the server ends the connection. */
  async run(): Promise<void> {
    try {
      while (await this.serveNext());
      await this.linger();
    } catch {
      // The connection failed. The reader of its request has got the error.
    } finally {
      this.close();
    }
  }

  /** Tells the client why it is not served, and ends. */
  async refuse(error: HttpError): Promise<void> {
    try {
      this.enter("answering", Infinity);
      await this.write(await errorBytes(error));
      await this.linger();
    } catch {
      // The client has left.
    } finally {
      this.close();
    }
  }

  /** Closes what is idle or half-sent at once. An answer that is on its way is finished first. */
  end(): void {
    this.ending = true;
    if (this.phase !== "answering") this.close();
  }

  /** Has the answer that is on its way end early, and says so to the client. */
  abortAnswer(): void {
    this.exchange?.abort();
  }

  /** Closes the connection as it is. */
  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.bodies.release(this);
    this.exchange?.clientLeft();
    this.incoming.fail(CLOSED);
    this.socket.close();
  }

  /** Ends what takes longer than it may. */
  checkTime(now: number): void {
    if (now < this.deadline || this.closed) return;
    if (this.phase !== "head" && this.phase !== "body") return this.close();
    const { headMs, bodyMs, bodyBytesPerSecond } = this.limits;
    this.deadline = Infinity;
    this.incoming.fail(
      new HttpError(
        408,
        "request_timeout",
        this.phase === "head"
          ? `The request's head was not complete after ${headMs / 1000} s. Send it at once.`
          : `The request's body was not complete after ${
            bodyMs / 1000
          } s, and came with fewer than ` +
            `${bodyBytesPerSecond} bytes a second. Send it faster.`,
      ),
    );
  }

  /** The server stood still for so many milliseconds, which are not the client's. */
  postpone(milliseconds: number): void {
    this.since += milliseconds;
    this.deadline += milliseconds;
    if (this.waitingSince !== undefined) this.waitingSince += milliseconds;
  }

  /** How long the client has kept the server waiting with what it writes now, in milliseconds. */
  waitedMs(now: number): number {
    return this.waitingSince === undefined ? 0 : now - this.waitingSince;
  }

  holdBody(bytes: number): void {
    this.bodies.grow(this, bytes);
  }

  releaseBody(): void {
    this.bodies.release(this);
  }

  failBody(error: HttpError): void {
    this.deadline = Infinity;
    this.incoming.fail(error);
  }

  /** Begins a phase, which may last so many milliseconds. */
  enter(phase: Phase, patienceMs: number): void {
    this.phase = phase;
    this.since = performance.now();
    this.deadline = this.since + patienceMs;
  }

  /** A body may take so many milliseconds since its first byte was waited for. */
  extendBody(patienceMs: number): void {
    if (this.phase === "body") this.deadline = this.since + patienceMs;
  }

  /**
   * Writes bytes, at the client's pace.
   *
   * @throws When the connection has failed, or the client reads nothing, or too slowly, for too long.
   */
  async write(bytes: Uint8Array): Promise<void> {
    const { writeMs, writeBytesPerSecond } = this.limits;
    let now = performance.now();
    if (this.writes++ === 0) this.waitingSince = now;
    try {
      for (let at = 0;;) {
        // The client has to read on: in any case something, and in the long run with the least rate.
        const whole = Math.max(writeMs, this.written / writeBytesPerSecond * 1000);
        this.deadline = Math.min(now + writeMs, this.waitingSince! + whole - this.waited);
        const count = await this.socket.write(at === 0 ? bytes : bytes.subarray(at));
        now = performance.now();
        at += count;
        this.written += count;
        if (at === bytes.length) break;
      }
      if (--this.writes > 0) return;
      this.waited += now - this.waitingSince!;
      this.waitingSince = undefined;
      this.deadline = this.phase === "body" ? this.since + this.limits.bodyMs : Infinity;
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Reads a request and answers it; false when it was the last. */
  private async serveNext(): Promise<boolean> {
    let head: RequestHead | undefined;
    try {
      head = await this.readHead();
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      this.enter("answering", Infinity);
      await this.write(await errorBytes(error));
      return false;
    }
    if (head === undefined) return false;
    this.exchange = new Exchange(this, head, this.handler);
    const before = this.written;
    const mayGoOn = await this.exchange.run();
    this.exchange = undefined;
    // Many small requests hold up others as much as a large one.
    await this.turns.take(REQUEST_BYTES + this.written - before);
    // The server may have begun to end meanwhile.
    const again = mayGoOn && !this.ending;
    if (again) this.enter("idle", this.limits.keepAliveMs);
    return again;
  }

  /**
   * The next request's head; undefined when the client has ended before one.
   *
   * @throws {HttpError} What is wrong with it.
   */
  private async readHead(): Promise<RequestHead | undefined> {
    const { incoming } = this;
    const scanner = new HeadScanner();
    for (;;) {
      if (this.phase === "idle") {
        // Empty lines in front of a request are passed over (RFC 9112, 2.2).
        while (incoming.bytes[0] === CR && incoming.bytes[1] === LF) incoming.take(2);
        // A line's end may come in two pieces.
        if (incoming.bytes.length === 1 && incoming.bytes[0] === CR) {
          if (await incoming.more()) continue;
          return undefined;
        }
        if (incoming.bytes.length > 0) this.enter("head", this.limits.headMs);
      }
      const length = scanner.scan(incoming.bytes);
      if (length !== undefined) {
        const turn = begun.take();
        if (turn !== undefined) await turn;
        // It may have been closed meanwhile.
        incoming.check();
        const head = parseHead(incoming.bytes.subarray(0, length));
        incoming.take(length);
        return head;
      }
      if (!await incoming.more()) {
        if (incoming.bytes.length === 0) return undefined;
        throw malformed("The connection ended inside the request's head.");
      }
    }
  }

  /**
   * Lets the client read its last answer. A connection that is closed while its client still sends is
   * reset, and the answer with it. So only the sending half is closed, and what comes is thrown away.
   */
  private async linger(): Promise<void> {
    if (this.ending || this.closed) return;
    this.enter("lingering", this.limits.lingerMs);
    this.incoming.discard();
    await this.socket.closeWrite();
    while (await this.incoming.more());
  }
}
