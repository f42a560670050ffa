import { createParser } from "eventsource-parser";
import { MOST_MESSAGE_BYTES } from "./limits.ts";

/**
 * `fetch` whose answers are not read without end: one longer than this fails, and so does a stream of events in
 * which one is longer.
 *
 * @param most Bytes.
 * @param onMessage Gets the text of each answer in JSON, and of each event, before the reader has it.
 */
export function boundedFetch(most = MOST_MESSAGE_BYTES, onMessage?: (text: string) => void) {
  return async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const type = response.headers.get("content-type")?.toLowerCase() ?? "";
    const events = type.startsWith("text/event-stream");
    let body = response.body.pipeThrough(events ? boundedEvents(most) : boundedBytes(most));
    if (onMessage !== undefined && events) body = body.pipeThrough(heardEvents(onMessage));
    else if (onMessage !== undefined && type.startsWith("application/json")) {
      body = body.pipeThrough(heardText(onMessage));
    }
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

/** Reports a text when its last byte has come. */
function heardText(onMessage: (text: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  return new TransformStream({
    transform(bytes, controller) {
      parts.push(decoder.decode(bytes, { stream: true }));
      controller.enqueue(bytes);
    },
    flush() {
      onMessage(parts.join("") + decoder.decode());
    },
  });
}

/** Reports the data of events, each before its last bytes go on. */
function heardEvents(onMessage: (text: string) => void): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const parser = createParser({ onEvent: ({ data }) => onMessage(data) });
  return new TransformStream({
    transform(bytes, controller) {
      parser.feed(decoder.decode(bytes, { stream: true }));
      controller.enqueue(bytes);
    },
  });
}

const LF = 10;
const CR = 13;

function tooLong(most: number): Error {
  return new Error(`the server's answer is longer than ${most} bytes`);
}
