/**
 * Server-sent events as OpenAI sends them: `data: {json}`, an empty line, and `data: [DONE]` at last.
 *
 * @module
 */
import { toHttpError } from "./errors.ts";
import { writeRepeatedly } from "./http/half_close.ts";

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  // A reverse proxy is not to collect the events before it sends them on.
  "X-Accel-Buffering": "no",
};

const ENCODER = new TextEncoder();

/** A line that readers of events pass over. */
const COMMENT = ENCODER.encode(": waiting\n\n");

/** A line among the events that their readers pass over. */
export interface Comment {
  readonly comment: string;
}

/** When a stream shows that it lives although there is no event. */
export interface StreamPace {
  /** How long it may be silent before a comment is sent, in milliseconds. */
  readonly commentMs: number;
  /** Aborted when the client may have left: comments that cannot be delivered show whether it has. */
  readonly halfClosed?: AbortSignal;
  /** What the last event has in place of JSON; null: there is no such event. Default "[DONE]". */
  readonly end?: string | null;
}

/**
 * An answer that sends events while they are made. Its head leaves at once, so whatever can be refused
 * must have been. The client sets the pace: an event is taken from `events` when the last one is on its
 * way, so that nothing piles up for a client that does not read. While it waits for an event, comments
 * keep clients and proxies from giving the stream up. An error becomes an event `{"error": …}` in
 * OpenAI's shape, and ends the stream without `[DONE]`.
 *
 * @param events JSON texts, and comments.
 * @param cancel Called when the client leaves; is to end the events.
 */
export function eventStream(
  events: AsyncGenerator<string | Comment>,
  cancel: () => void,
  pace: StreamPace,
): Response {
  let comments: Comments;
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      comments = new Comments(controller, pace);
    },
    async pull(controller) {
      let sent: Uint8Array | undefined;
      let done: boolean | undefined = true;
      try {
        const next = await events.next();
        done = next.done;
        const { end = "[DONE]" } = pace;
        const data = next.done ? end : next.value;
        if (data !== null) sent = typeof data === "string" ? event(data) : commentLine(data);
      } catch (error) {
        sent = event(JSON.stringify(toHttpError(error).body()));
      }
      comments.sent();
      if (sent !== undefined) controller.enqueue(sent);
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
  return new Response(stream, { headers: HEADERS });
}

function commentLine({ comment }: Comment): Uint8Array {
  // A line break would end it, and begin what is read.
  return ENCODER.encode(`: ${comment.replaceAll(/[\r\n]+/g, " ")}\n\n`);
}

function event(data: string): Uint8Array {
  return ENCODER.encode(`data: ${data}\n\n`);
}

/** Sends comments into a stream that is silent. */
class Comments {
  private last = performance.now();
  private timer: number;
  private stopSigns?: () => void;

  constructor(
    private readonly controller: ReadableStreamDefaultController<Uint8Array>,
    private readonly pace: StreamPace,
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
    if ((this.controller.desiredSize ?? 0) > 0) this.controller.enqueue(COMMENT);
  }
}
