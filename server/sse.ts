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
 * The answer begins with its first event. So an error before it is answered with its own status; and
 * the event leaves in one packet with the headers. Sent after them it would wait for their
 * acknowledgement, 40 ms on a connection that is used again: `Deno.serve` has no TCP_NODELAY.
 *
 * @param events JSON texts.
 * @param cancel Called when the client leaves; is to end the events.
 * @throws What `events` throws in place of the first event.
 */
export async function eventStream(
  events: AsyncGenerator<string>,
  cancel: () => void,
): Promise<Response> {
  const first = await events.next();
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => send(controller, first),
    async pull(controller) {
      try {
        send(controller, await events.next());
      } catch (error) {
        controller.enqueue(event(JSON.stringify(toHttpError(error).body())));
        controller.close();
      }
    },
    cancel,
  });
  return new Response(stream, { headers: HEADERS });
}

/** Sends an event, or the end. */
function send(
  controller: ReadableStreamDefaultController<Uint8Array>,
  { done, value }: IteratorResult<string>,
): void {
  controller.enqueue(event(done ? "[DONE]" : value));
  if (done) controller.close();
}

function event(data: string): Uint8Array {
  return ENCODER.encode(`data: ${data}\n\n`);
}
