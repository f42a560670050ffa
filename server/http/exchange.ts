import { toHttpError } from "../errors.ts";
import { writeRepeatedly } from "./half_close.ts";
import type { RequestHead } from "./head.ts";
import { type Incoming, RequestBody } from "./incoming.ts";
import type { HttpLimits } from "./limits.ts";
import {
  chunked,
  CONTINUE,
  joined,
  LAST_CHUNK,
  type Piece,
  responseHead,
  wholeResponse,
} from "./response_bytes.ts";
import type { TurnShare } from "./turn_share.ts";

/** What a handler is given beside the request. */
export interface Client {
  /** Aborted when the answer is of no use any more: the client has left, or the server ends. */
  readonly signal: AbortSignal;
  /**
   * Aborted when the client has closed its sending half: it waits, or it has left. It shows when
   * something is written to it, which for a stream is the handler's task.
   */
  readonly halfClosed: AbortSignal;
}

/** A body in pieces, made when those before have been taken. */
export interface Pieces {
  /**
   * The next pieces, those that are there together; undefined at the end. They are asked for when the last ones have come.
   *
   * @throws What the body fails with.
   */
  next(): Promise<readonly Piece[] | undefined>;
  /** Whether the last pieces have been given; absent: {@link next} says so when it is asked for more. */
  readonly isOver?: boolean;
  /** Nobody wants more. A reader that waits for a piece gets none. */
  cancel(): void;
}

/** Streams, and the pieces that they are made of. */
const made = new WeakMap<ReadableStream<Piece>, Pieces>();

/**
 * Pieces as the body of a request or an answer. The server itself takes them by {@link piecesOf}: a stream's own
 * bookkeeping costs as much as all the rest that is done for a token's event.
 */
export function streamOf(pieces: Pieces): ReadableStream<Piece> {
  const stream = new ReadableStream<Piece>({
    async pull(controller) {
      const next = await pieces.next();
      if (next === undefined) return controller.close();
      for (const piece of next) controller.enqueue(piece);
    },
    cancel: () => pieces.cancel(),
  }, { highWaterMark: 0 });
  made.set(stream, pieces);
  return stream;
}

/** The pieces of a body of which nobody has read anything, whoever has made it. */
export function piecesOf(stream: ReadableStream<Piece>): Pieces {
  const pieces = stream.locked ? undefined : made.get(stream);
  if (pieces !== undefined) return pieces;
  const reader = stream.getReader();
  return {
    next: async () => {
      const { value } = await reader.read();
      return value && [value];
    },
    cancel: () => void reader.cancel().catch(() => {}),
  };
}

/** The content types of answers that are written as they come. */
const STREAMS: ReadonlySet<string> = new Set(["text/event-stream", "application/x-ndjson"]);

/** Answers a request. A stream of events is written as it comes, any other answer as a whole. */
export type HttpHandler = (request: Request, client: Client) => Response | Promise<Response>;

/**
 * What a connection is doing: "idle" between requests, reading a "head" or a "body", "answering", or
 * "lingering": it has had its last answer, and is closed when the client has noticed.
 */
export type Phase = "idle" | "head" | "body" | "answering" | "lingering";

/** The longest pause between two signs of life for a client that may have left, in milliseconds. */
const LONGEST_PAUSE_MS = 15_000;

/** What an exchange needs of its connection. */
export interface ExchangeConnection {
  readonly incoming: Incoming;
  readonly limits: HttpLimits;
  /** Whether no further request is read. */
  readonly ending: boolean;
  readonly turns: TurnShare;
  enter(phase: Phase, patienceMs: number): void;
  extendBody(patienceMs: number): void;
  /** So many bytes more of the body are held. */
  holdBody(bytes: number): void;
  /** The body is complete, or nobody wants it. */
  releaseBody(): void;
  write(bytes: Uint8Array): Promise<void>;
}

/** A request and its answer. */
export class Exchange implements Client {
  readonly signal: AbortSignal;
  readonly halfClosed: AbortSignal;
  private readonly end = new AbortController();
  private readonly clientEnd = new AbortController();
  private readonly body: RequestBody;
  /** Whether the connection holds pieces of it. */
  private holds = false;
  private events?: Pieces;
  /** Ends the signs of life. */
  private stopSigns?: () => void;
  private answered = false;

  constructor(
    private readonly connection: ExchangeConnection,
    private readonly head: RequestHead,
    private readonly handler: HttpHandler,
  ) {
    this.signal = this.end.signal;
    this.halfClosed = this.clientEnd.signal;
    this.body = new RequestBody(connection.incoming, head.framing);
  }

  /**
   * Has the request answered; true when the connection can be used again.
   *
   * @throws When the connection fails.
   */
  async run(): Promise<boolean> {
    const { connection, body, head } = this;
    if (body.complete) this.bodyComplete();
    else connection.enter("body", connection.limits.bodyMs);
    try {
      const response = await this.respond();
      connection.enter("answering", Infinity);
      this.answered = true;
      this.stopSigns?.();
      const { incoming } = connection;
      const close = !(body.complete || body.skip()) || !head.keepAlive || connection.ending ||
        (incoming.ended && incoming.bytes.length === 0) ||
        response.headers.get("connection") === "close";
      await this.write(response, close);
      // The server may have begun to end since.
      return !close && !connection.ending;
    } finally {
      this.stopSigns?.();
      if (this.holds) connection.releaseBody();
    }
  }

  /** The client has closed its sending half, or all of the connection. */
  halfClose(): void {
    // Without its body the request is not whole, and its reader gets an error.
    if (!this.body.complete || this.clientEnd.signal.aborted) return;
    this.clientEnd.abort();
    if (this.answered || this.head.minor === 0) return;
    // An interim answer means nothing, and a client of HTTP/1.1 passes over any number of them.
    const sign = () => {
      this.connection.write(CONTINUE).catch(() => {
        // The client has left; the connection knows.
      });
    };
    this.stopSigns = writeRepeatedly(sign, LONGEST_PAUSE_MS);
  }

  /** The server wants the answer to end early; the client still reads. */
  abort(): void {
    this.end.abort();
  }

  /** Nobody is there to read the answer. */
  clientLeft(): void {
    this.stopSigns?.();
    this.end.abort();
    this.events?.cancel();
  }

  private async respond(): Promise<Response> {
    const { method, url, headers } = this.head;
    try {
      const takesBody = method !== "GET" && method !== "HEAD" && !this.body.complete;
      const body = takesBody ? this.bodyStream() : undefined;
      const request = new Request(url, { method, body });
      // Headers that a request is made with are copied twice, at the cost of all the rest of it.
      for (const [name, value] of headers) request.headers.append(name, value);
      return await this.handler(request, this);
    } catch (error) {
      return toHttpError(error).response();
    }
  }

  private bodyStream(): ReadableStream<Piece> {
    const { body, connection } = this;
    let held = this.head.expectsContinue;
    const next = async (): Promise<readonly Piece[] | undefined> => {
      if (body.complete) return undefined;
      if (held && connection.incoming.bytes.length === 0) await connection.write(CONTINUE);
      held = false;
      const piece = await body.read();
      if (piece !== undefined) {
        if (!body.complete) {
          this.holds = true;
          connection.holdBody(piece.length);
        }
        const turn = connection.turns.take(piece.length);
        if (turn !== undefined) await turn;
      }
      if (body.complete) {
        this.bodyComplete();
      } else {
        const { bodyMs, bodyBytesPerSecond } = connection.limits;
        connection.extendBody(Math.max(bodyMs, body.received / bodyBytesPerSecond * 1000));
      }
      return piece && [piece];
    };
    // What nobody reads is passed over when the answer is there.
    return streamOf({ next, cancel: () => {} });
  }

  private bodyComplete(): void {
    if (this.holds) this.connection.releaseBody();
    this.holds = false;
    // A handler that did not wait for it has answered, and the connection may have gone on.
    if (this.answered) return;
    this.connection.enter("answering", Infinity);
    if (this.connection.incoming.ended) this.halfClose();
  }

  private async write(response: Response, close: boolean): Promise<void> {
    const { connection, head } = this;
    const isStream = STREAMS.has(response.headers.get("content-type") ?? "") ||
      // What is made piece by piece asks for it, so that it is never there whole.
      response.headers.get("transfer-encoding") === "chunked";
    if (!isStream || response.body === null || head.method === "HEAD") {
      return await connection.write(await wholeResponse(response, head, close));
    }
    const events = this.events = piecesOf(response.body);
    const framing = head.minor === 0 ? "none" : "chunked";
    try {
      await connection.write(responseHead(response, framing, head.minor, close));
      for (;;) {
        const pieces = await events.next();
        if (pieces === undefined) break;
        // In one write: that is most of what the server spends on a token.
        const isOver = events.isOver ?? false;
        const bytes = framing === "chunked" ? chunked(pieces, isOver) : joined(pieces);
        await connection.write(bytes);
        if (isOver) return;
        const turn = connection.turns.take(bytes.length);
        if (turn !== undefined) await turn;
      }
      if (framing === "chunked") await connection.write(LAST_CHUNK);
    } catch (error) {
      // The client left, maybe before the first event: nobody else tells the stream so.
      this.clientLeft();
      throw error;
    }
  }
}
