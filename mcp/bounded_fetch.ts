import { MOST_MESSAGE_BYTES } from "./limits.ts";

/**
 * `fetch` whose answers are not read without end: one longer than this fails, and so does a stream of events in
 * which one is longer.
 */
export function boundedFetch(most = MOST_MESSAGE_BYTES) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const events = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const body = response.body.pipeThrough(events ? boundedEvents(most) : boundedBytes(most));
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

function boundedBytes(most: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  return new TransformStream({
    transform(bytes, controller) {
      length += bytes.length;
      if (length > most) controller.error(tooLong(most));
      else controller.enqueue(bytes);
    },
  });
}

/** Counts from one empty line, which ends an event, to the next. */
function boundedEvents(most: number): TransformStream<Uint8Array, Uint8Array> {
  let length = 0;
  let lineIsEmpty = true;
  return new TransformStream({
    transform(bytes, controller) {
      for (const byte of bytes) {
        length++;
        if (byte === CR) continue;
        if (byte === LF && lineIsEmpty) length = 0;
        lineIsEmpty = byte === LF;
      }
      if (length > most) controller.error(tooLong(most));
      else controller.enqueue(bytes);
    },
  });
}

const LF = 10;
const CR = 13;

function tooLong(most: number): Error {
  return new Error(`the server's answer is longer than ${most} bytes`);
}
