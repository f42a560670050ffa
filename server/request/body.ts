/**
 * The JSON of a request's body: how much of it is read, and which of its numbers are kept as they are written. Schemas,
 * arguments and template variables go to the model and come back from it. Other fields are settings, whose numbers are
 * JavaScript's.
 *
 * @module
 */
import {
  type BearableLoss,
  define,
  type JsonLimits,
  JsonNumber,
  JsonTooMuch,
  parseInTurns,
  parseWhole,
} from "../../engine/json/mod.ts";
import { othersTurn } from "../../engine/turns.ts";
import { HttpError } from "../errors.ts";
import { piecesOf } from "../http/mod.ts";

/** Fields of bodies whose numbers keep their digits. */
const EXACT_FIELDS: ReadonlySet<string> = new Set([
  "messages",
  "tools",
  "chat_template_kwargs",
  // What an answer must be like.
  "response_format",
  "json_schema",
  "guided_json",
  "structured_outputs",
  "format",
  "text",
  "output_config",
  "output_format",
  // A call of a tool of an MCP server.
  "arguments",
]);

/**
 * `JSON.parse` loses this in most bodies without harm: Python's clients write a temperature as 1.0, and every key
 * of a `logit_bias` is an integer.
 */
const BEARABLE: BearableLoss = {
  ofNumbers: (field) => !EXACT_FIELDS.has(field),
  ofOrder: (field) => field === "logit_bias",
};

/** Digits of a seed that are read. */
const MOST_SEED_DIGITS = 40;
/** What a body may have, whatever its bytes: each value takes memory, and the time of whoever checks it. */
const LIMITS: JsonLimits = {
  values: 1_100_000,
  members: 65_536,
  exactValues: 200_000,
  lost: 16_384,
};

/**
 * From that many characters on a body is read in parts, between which other requests have their turn: it takes
 * milliseconds.
 */
const LONG_BODY = 2 ** 17;

/**
 * The JSON value in a request's body. Never holds more than `maxBytes` and one chunk, whatever the
 * client claims or sends. In {@link EXACT_FIELDS} numbers are as {@link parseJson} has them. Elsewhere they are
 * JavaScript's, except a `seed` beyond 2^53, which is a bigint. Seeds of 64 bits are common, and those that differ in
 * the last bits alone must sample different tokens.
 *
 * @param request A request whose body has not been read.
 * @param maxBytes The longest body that is accepted.
 * @throws {HttpError} 415 for another content type, 413 for a longer body, 400 for one that is not
 * UTF-8 or not JSON, or has more values than a body may.
 */
export async function readJson(request: Request, maxBytes: number): Promise<unknown> {
  requireJson(request.headers);
  const text = await readText(request, maxBytes);
  const isLong = text.length >= LONG_BODY;
  if (isLong) await othersTurn();
  if (text.trim() === "") {
    throw new HttpError(400, "invalid_json", "The body is empty; a JSON object was expected.");
  }
  try {
    if (!isLong) {
      const { value, isPlain } = parseWhole(text, LIMITS, BEARABLE);
      return isPlain ? value : settingsOf(value);
    }
    const parsed = await parseInTurns(text, othersTurn, LIMITS, BEARABLE);
    await othersTurn();
    if (parsed.isPlain) return parsed.value;
    const settings = settingsOf(parsed.value);
    // What checks it has a turn of its own.
    await othersTurn();
    return settings;
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

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The body's text, read no further than the limit. */
async function readText(request: Request, maxBytes: number): Promise<string> {
  // A client may leave Content-Length out or lie in it, so the bytes are counted too.
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.body === null) return "";
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
  try {
    return UTF8.decode(bytes.subarray(0, length));
  } catch {
    throw new HttpError(400, "invalid_json", "The body is not UTF-8. Send JSON encoded as UTF-8.");
  }
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(
    413,
    "body_too_large",
    `The body is longer than ${maxBytes} bytes, which is the most that is read. Send a shorter one.`,
  );
}

/** A body whose settings have JavaScript's numbers. */
function settingsOf(value: unknown): unknown {
  // Its members are changed in place, without a call a level: it may be nested as deeply as JSON can be.
  const body = [value];
  const open: unknown[] = [body];
  const look = (holder: unknown, key: string | number, one: unknown) => {
    if (one instanceof JsonNumber) define(holder as object, key, settingOf(key, one));
    else if (typeof one === "object" && one !== null) open.push(one);
  };
  while (open.length > 0) {
    const holder = open.pop();
    if (Array.isArray(holder)) {
      for (let i = 0; i < holder.length; i++) look(holder, i, holder[i]);
      continue;
    }
    for (const [key, one] of Object.entries(holder as object)) {
      if (holder !== value || !EXACT_FIELDS.has(key)) look(holder, key, one);
    }
  }
  return body[0];
}

function settingOf(key: string | number, number: JsonNumber): number | bigint {
  const digits = String(number);
  const isSeed = key === "seed" && number.isInteger && digits.length <= MOST_SEED_DIGITS &&
    !Number.isSafeInteger(number.value);
  return isSeed ? BigInt(digits) : number.value;
}
