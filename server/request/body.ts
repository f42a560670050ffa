import { JsonTooMuch } from "../../engine/json/mod.ts";
import { piecesOf } from "../http/mod.ts";
import { othersTurn } from "../../engine/turns.ts";
import { HttpError } from "../errors.ts";
import { exactBody, longExactBody } from "./exact_body.ts";

/**
 * From that many characters on a body is read in parts, between which other requests have their turn: it takes
 * milliseconds.
 */
const LONG_BODY = 2 ** 17;

/**
 * The JSON value in a request's body. Never holds more than `maxBytes` and one chunk, whatever the
 * client claims or sends. Numbers are as {@link exactBody} has them.
 *
 * @param request A request whose body has not been read.
 * @param maxBytes The longest body that is accepted.
 * @throws {HttpError} 415 for another content type, 413 for a longer body, 400 for one that is not
 * UTF-8 or not JSON.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  requireJson(request.headers);
  const text = decode(await readBytes(request, maxBytes));
  const isLong = text.length >= LONG_BODY;
  if (isLong) await othersTurn();
  if (text.trim() === "") {
    throw new HttpError(400, "invalid_json", "The body is empty; a JSON object was expected.");
  }
  try {
    if (!isLong) return exactBody(text);
    const value = await longExactBody(text, othersTurn);
    // What checks it has a turn of its own.
    await othersTurn();
    return value;
  } catch (error) {
    if (error instanceof JsonTooMuch) {
      throw new HttpError(
        400,
        "invalid_request",
        `The body is too large: ${error.message}. Send less.`,
      );
    }
    // V8's message says where: a position, a line and column, or the text around it.
    const reason = error instanceof Error ? error.message : String(error);
    throw new HttpError(400, "invalid_json", `The body is not valid JSON: ${reason}`);
  }
}

/** @throws {HttpError} 415 unless the body is said to be plain JSON. */
function requireJson(headers: Headers): void {
  const type = headers.get("content-type");
  // A web page can send other types to any server without asking it first (no preflight).
  if (type?.split(";", 1)[0].trim().toLowerCase() !== "application/json") {
    throw new HttpError(
      415,
      "unsupported_media_type",
      `The body's content type is ${type === null ? "missing" : `"${type.slice(0, 100)}"`}. ` +
        `Send JSON with the header "Content-Type: application/json".`,
    );
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") {
    throw new HttpError(
      415,
      "unsupported_media_type",
      `The body's content encoding is "${encoding.slice(0, 100)}". Send it without compression.`,
    );
  }
}

/** Bytes that are reserved for a body at first; most are shorter. */
const FIRST_BYTES = 4096;

/** The body's bytes, read no further than the limit. */
async function readBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  // A client may leave Content-Length out or lie in it, so the bytes are counted too.
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return new Uint8Array();
  const pieces = piecesOf(request.body);
  // A client may send byte by byte: a list of pieces takes hundreds of bytes for each.
  let bytes = new Uint8Array(FIRST_BYTES);
  let length = 0;
  try {
    for (;;) {
      const next = await pieces.next();
      if (next === undefined) break;
      for (const piece of next) {
        const end = length + piece.length;
        if (end > maxBytes) throw tooLarge(maxBytes);
        if (end > bytes.length) {
          const larger = new Uint8Array(Math.min(maxBytes, Math.max(end, 2 * bytes.length)));
          larger.set(bytes.subarray(0, length));
          bytes = larger;
        }
        bytes.set(piece, length);
        length = end;
      }
    }
  } catch (error) {
    pieces.cancel();
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, "incomplete_body", "The connection ended inside the request's body.");
  }
  return bytes.subarray(0, length);
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(
    413,
    "body_too_large",
    `The body is longer than ${maxBytes} bytes, which is the most that is read. Send a shorter one.`,
  );
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new HttpError(400, "invalid_json", "The body is not UTF-8. Send JSON encoded as UTF-8.");
  }
}
