/**
 * Answers that come in pieces: server-sent events, or what another dialect has in their place.
 *
 * @module
 */
import type { Dialect, StreamShape } from "./dialect.ts";
import { type HttpError, toHttpError } from "./errors.ts";
import { writeRepeatedly } from "./http/half_close.ts";

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

/** What readers pass over, in its place among the events. */
export interface Comment {
  readonly comment: string;
}

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
 * @param events JSON texts, and comments.
 * @param cancel Called when the client leaves; is to end the events.
 * @param shape How events are written, where the dialect's own way is not meant.
 */
export function eventStream(
  events: AsyncGenerator<string | Comment>,
  cancel: () => void,
  pace: StreamPace,
  dialect: Dialect,
  shape: StreamShape = dialect.stream,
): Response {
  let comments: Comments;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      comments = new Comments(controller, pace, ENCODER.encode(shape.alive("waiting")));
    },
    async pull(controller) {
      let sent: string;
      let done: boolean | undefined = true;
      try {
        const next = await events.next();
        done = next.done;
        sent = next.done ? shape.end : written(shape, next.value);
      } catch (error) {
        sent = shape.event(JSON.stringify(errorEvent(dialect, toHttpError(error))));
      }
      comments.sent();
      if (sent !== "") controller.enqueue(ENCODER.encode(sent));
      if (done) {
        comments.stop();
        controller.close();
      }
    },
    cancel() {
      comments.stop();
      cancel();
    },
  });
  return new Response(stream, { headers: { "Content-Type": shape.contentType, ...HEADERS } });
}

function errorEvent(dialect: Dialect, error: HttpError): unknown {
  return dialect.streamError?.(error) ?? dialect.errorBody(error);
}

function written(shape: StreamShape, item: string | Comment): string {
  return typeof item === "string" ? shape.event(item) : shape.alive(item.comment);
}

/** Sends comments into a stream that is silent. */
class Comments {
  private last = performance.now();
  private timer: number;
  private stopSigns?: () => void;

  constructor(
    private readonly controller: ReadableStreamDefaultController<Uint8Array>,
    private readonly pace: StreamPace,
    private readonly comment: Uint8Array,
  ) {
    this.timer = setTimeout(this.check, pace.commentMs);
    const { halfClosed } = pace;
    if (halfClosed?.aborted) this.askClient();
    else halfClosed?.addEventListener("abort", this.askClient);
  }

  /** Something is sent. */
  sent(): void {
    this.last = performance.now();
  }

  /** The stream ends. */
  stop(): void {
    clearTimeout(this.timer);
    this.stopSigns?.();
    this.pace.halfClosed?.removeEventListener("abort", this.askClient);
  }

  // One timer for all events: setting one for each would cost more than the rest of the stream.
  private readonly check = () => {
    const { commentMs } = this.pace;
    if (performance.now() - this.last >= commentMs) this.send();
    this.timer = setTimeout(this.check, Math.max(1, this.last + commentMs - performance.now()));
  };

  private readonly askClient = () => {
    this.stopSigns = writeRepeatedly(() => this.send(), this.pace.commentMs);
  };

  private send(): void {
    this.sent();
    // Where the client does not read, there is something on its way to it already.
    if ((this.controller.desiredSize ?? 0) > 0) this.controller.enqueue(this.comment);
  }
}
