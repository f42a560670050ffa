/**
 * JSON that may be long, written piece by piece: no piece holds up other answers, and only what the client has read
 * is made.
 *
 * @module
 */

import { Turns } from "../../engine/turns.ts";

/** Items of a list, and characters of a text, that are written at a time; an item is a number, or as long as one. */
const ITEMS = 2048;
const CHARACTERS = 65_536;

/** What is short enough to be written whole. */
type JsonValue = string | number | { readonly [name: string]: JsonValue };

function isPieces(value: Generator<string> | JsonValue): value is Generator<string> {
  return typeof value === "object" && typeof value.next === "function";
}

/** An object whose values are JSON, or pieces of it. */
export function* objectAsJson(
  fields: Readonly<Record<string, Generator<string> | JsonValue>>,
): Generator<string> {
  let before = "{";
  for (const [name, value] of Object.entries(fields)) {
    yield `${before}${JSON.stringify(name)}:`;
    if (isPieces(value)) yield* value;
    else yield JSON.stringify(value);
    before = ",";
  }
  yield before === "{" ? "{}" : "}";
}

/**
 * A list, each of whose items is made when it is its turn.
 *
 * @param itemLength How many numbers an item has, or what is as long: of long ones fewer are written at a time.
 */
export function* listAsJson<T>(
  items: ArrayLike<T>,
  written: (item: T, index: number) => unknown,
  itemLength = 1,
): Generator<string> {
  const atOnce = Math.max(1, Math.floor(ITEMS / itemLength));
  for (let at = 0; at < items.length; at += atOnce) {
    const part = Array.from(
      { length: Math.min(atOnce, items.length - at) },
      (_, i) => written(items[at + i], at + i),
    );
    yield (at > 0 ? "," : "[") + JSON.stringify(part).slice(1, -1);
  }
  yield items.length === 0 ? "[]" : "]";
}

/** The vectors of texts. */
export function vectorsAsJson(
  vectors: readonly Float32Array[],
  written: (vector: Float32Array, index: number) => unknown,
): Generator<string> {
  return listAsJson(vectors, written, vectors[0]?.length);
}

/** A text. */
export function* textAsJson(text: string): Generator<string> {
  yield '"';
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + CHARACTERS, text.length);
    // Two halves of a character stay together: one alone is written as an escape.
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1])) end--;
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
    at = end;
  }
  yield '"';
}

/** An answer of such pieces: a short one whole, of a long one each when the last has been taken. */
export function longAnswer(pieces: Generator<string>): Response {
  let text = "";
  let last = pieces.next();
  for (; !last.done && text.length < CHARACTERS; last = pieces.next()) text += last.value;
  const headers = { "content-type": "application/json" };
  if (last.done) return new Response(text, { headers });
  const encoder = new TextEncoder();
  const turns = new Turns();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      // A client that reads fast would have one piece made after the other, and nobody else a turn.
      await turns.next();
      if (last.done) return controller.close();
      controller.enqueue(encoder.encode(text + last.value));
      text = "";
      last = pieces.next();
    },
    cancel: () => void pieces.return(undefined),
  }, { highWaterMark: 1 });
  return new Response(body, { headers: { ...headers, "transfer-encoding": "chunked" } });
}
