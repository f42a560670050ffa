/**
 * Answers that come in pieces: server-sent events, or what another dialect has in their place.
 *
 * @module
 */
import type { Dialect, StreamShape } from "../dialect.ts";
import { toHttpError } from "../errors.ts";
import { type Piece, type Pieces, streamOf, writeRepeatedly } from "../http/mod.ts";

const HEADERS = {
  "Cache-Control": "no-cache",
  // A reverse proxy is not to collect the events before it sends them on.
  "X-Accel-Buffering": "no",
};

const ENCODER = new TextEncoder();

/** Server-sent events: `data: {json}` and an empty line. */
export const SSE: StreamShape = {
  contentType: "text/event-stream",
  event: (json) => `data: ${json}\n\n`,
  // A line break would end the comment, and begin what is read.
  alive: (waitingFor) => `: ${waitingFor.replaceAll(/[\r\n]+/g, " ")}\n\n`,
  end: "",
};

/** The same, named after the type that their JSON begins with. */
export const NAMED_SSE: StreamShape = {
  ...SSE,
  event: (json) => `event: ${/^\{"type":"([\w.]+)"/.exec(json)?.[1]}\ndata: ${json}\n\n`,
};

/** What readers pass over, in its place among the events. */
export interface Comment {
  readonly comment: string;
}

/** JSON of an event, or of several that are there together; or a comment. */
export type StreamItem = string | readonly string[] | Comment;

/** When a stream shows that it lives although there is no event. */
export interface StreamPace {
  /** How long it may be silent before a comment is sent, in milliseconds. */
  readonly commentMs: number;
  /** Aborted when the client may have left: comments that cannot be delivered show whether it has. */
  readonly halfClosed?: AbortSignal;
}

/**
 * An answer that sends events while they are made. Its head leaves at once, so whatever can be refused
 * must have been. The client sets the pace: an event is taken from `events` when the last one is on its
 * way, so that nothing piles up for a client that does not read. While it waits for an event, comments
 * keep clients and proxies from giving the stream up. An error becomes an event in the dialect's shape, and
 * ends the stream without the end of a complete one.
 *
 * @param events What is sent. What comes together leaves in one write, an event a chunk still.
 * @param cancel Called when the client leaves; is to end the events.
 * @param shape How events are written, where the dialect's own way is not meant.
 */
export function eventStream(
  events: AsyncGenerator<StreamItem>,
  cancel: () => void,
  pace: StreamPace,
  dialect: Dialect,
  shape: StreamShape = dialect.stream,
): Response {
  const pieces = new EventPieces(events, cancel, pace, dialect, shape);
  return new Response(streamOf(pieces), {
    headers: { "Content-Type": shape.contentType, ...HEADERS },
  });
}

/** An item as pieces of the stream; none where it says nothing. */
function written(shape: StreamShape, item: StreamItem): Piece[] {
  const pieces: Piece[] = [];
  for (const one of Array.isArray(item) ? item : [item]) {
    const text = typeof one === "string" ? shape.event(one) : shape.alive(one.comment);
    if (text !== "") pieces.push(ENCODER.encode(text));
  }
  return pieces;
}

/** Events as they are written, and comments while there is none. */
class EventPieces implements Pieces {
  /** Whoever waits for pieces. */
  private waiting?: (pieces: readonly Piece[] | undefined) => void;
  /** What came while nobody waited, because a comment had gone before it. */
  private ready?: readonly Piece[];
  /** Whether an event is on its way. */
  private asking = false;
  private ended = false;
  private last = performance.now();
  private timer: number;
  private stopSigns?: () => void;

  constructor(
    private readonly events: AsyncGenerator<StreamItem>,
    private readonly onCancel: () => void,
    private readonly pace: StreamPace,
    private readonly dialect: Dialect,
    private readonly shape: StreamShape,
  ) {
    this.timer = setTimeout(this.check, pace.commentMs);
    const { halfClosed } = pace;
    if (halfClosed?.aborted) this.askClient();
    else halfClosed?.addEventListener("abort", this.askClient);
  }

  get isOver(): boolean {
    return this.ended && this.ready === undefined;
  }

  next(): Promise<readonly Piece[] | undefined> {
    const { ready } = this;
    this.ready = undefined;
    if (ready !== undefined || this.ended) return Promise.resolve(ready);
    const { promise, resolve } = Promise.withResolvers<readonly Piece[] | undefined>();
    this.waiting = resolve;
    if (!this.asking) this.ask();
    return promise;
  }

  cancel(): void {
    if (this.ended) return;
    this.end();
    this.give(undefined);
    this.onCancel();
  }

  /** Takes the next event on its way to whoever waits; one that says nothing is passed over. */
  private async ask(): Promise<void> {
    this.asking = true;
    const { shape, dialect } = this;
    let sent: readonly Piece[];
    do {
      try {
        const next = await this.events.next();
        if (next.done) this.end();
        // What follows on the last event is no event.
        sent = !next.done
          ? written(shape, next.value)
          : shape.end === ""
          ? []
          : [ENCODER.encode(shape.end)];
      } catch (thrown) {
        this.end();
        const error = toHttpError(thrown);
        const event = dialect.streamError?.(error) ?? dialect.errorBody(error);
        sent = written(shape, JSON.stringify(event));
      }
    } while (sent.length === 0 && !this.ended);
    this.asking = false;
    this.last = performance.now();
    this.give(sent.length === 0 ? undefined : sent);
  }

  private give(pieces: readonly Piece[] | undefined): void {
    const { waiting } = this;
    this.waiting = undefined;
    if (waiting === undefined) this.ready = pieces;
    else waiting(pieces);
  }

  private end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.stopSigns?.();
    this.pace.halfClosed?.removeEventListener("abort", this.askClient);
  }

  // One timer for all events: setting one for each would cost more than the rest of the stream.
  private readonly check = () => {
    const { commentMs } = this.pace;
    if (performance.now() - this.last >= commentMs) this.comment();
    this.timer = setTimeout(this.check, Math.max(1, this.last + commentMs - performance.now()));
  };

  private readonly askClient = () => {
    this.stopSigns = writeRepeatedly(() => this.comment(), this.pace.commentMs);
  };

  private comment(): void {
    this.last = performance.now();
    // Where nobody waits, there is something on its way to the client already.
    if (this.waiting !== undefined) this.give(written(this.shape, { comment: "waiting" }));
  }
}
