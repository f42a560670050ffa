/**
 * Server-sent events as OpenAI sends them: `data: {json}`, an empty line, and `data: [DONE]` at last.
 *
 * @module
 */
import { toHttpError } from "./errors.ts";

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  // A reverse proxy is not to collect the events before it sends them on.
  "X-Accel-Buffering": "no",
};

const ENCODER = new TextEncoder();

/**
 * An answer that sends events while they are made. The client sets the pace: an event is taken from
 * `events` when the last one is on its way, so that nothing piles up for a client that does not read.
 * An error in the middle becomes an event `{"error": …}` in OpenAI's shape, and ends the stream
 * without `[DONE]`.
 *
 * @param events JSON texts.
 * @param cancel Called when the client leaves; is to end the events.
 */
export function eventStream(events: AsyncGenerator<string>, cancel: () => void): Response {
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await events.next();
        controller.enqueue(ENCODER.encode(done ? "data: [DONE]\n\n" : `data: ${value}\n\n`));
        if (done) controller.close();
      } catch (error) {
        const body = JSON.stringify(toHttpError(error).body());
        controller.enqueue(ENCODER.encode(`data: ${body}\n\n`));
        controller.close();
      }
    },
    cancel,
  });
  return new Response(stream, { headers: HEADERS });
}
