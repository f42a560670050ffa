import type { HttpError } from "../errors.ts";

/** The reason phrases of the statuses that this server answers with. */
const REASONS: Record<number, string> = {
  100: "Continue",
  200: "OK",
  204: "No Content",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Content Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  417: "Expectation Failed",
  421: "Misdirected Request",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  503: "Service Unavailable",
  504: "Gateway Timeout",
  505: "HTTP Version Not Supported",
};

const LF = 10;
const CR = 13;

/** The most that a chunk has in addition to its data: a size of eight digits, two ends of lines. */
const MOST_CHUNK_BYTES = 12;

/** A piece of a body; it has some bytes. */
export type Piece = Uint8Array<ArrayBuffer>;

const ENCODER = new TextEncoder();

/** Tells a client to send the body that it holds back, or that its answer still is on its way. */
export const CONTINUE: Uint8Array = ENCODER.encode("HTTP/1.1 100 Continue\r\n\r\n");

/** What delimits an answer's body: its length in bytes, chunks, or nothing but the connection's end. */
export type AnswerFraming = number | "chunked" | "none";

/**
 * The head of an answer.
 *
 * @param minor The minor version of the request's HTTP.
 * @param close Whether the connection ends with the answer.
 */
export function responseHead(
  response: Response,
  framing: AnswerFraming,
  minor: 0 | 1,
  close: boolean,
): Uint8Array {
  const { status, headers } = response;
  let head = `HTTP/1.${minor} ${status} ${REASONS[status] ?? ""}\r\nDate: ${date()}\r\n`;
  for (const [name, value] of headers) {
    if (!OWN.has(name)) head += `${name}: ${value}\r\n`;
  }
  if (framing === "chunked") head += "Transfer-Encoding: chunked\r\n";
  else if (framing !== "none") head += `Content-Length: ${framing}\r\n`;
  if (close) head += "Connection: close\r\n";
  return ENCODER.encode(head + "\r\n");
}

/** An answer of a known length, head and body in one piece. */
export async function wholeResponse(
  response: Response,
  request: { readonly method: string; readonly minor: 0 | 1 },
  close: boolean,
): Promise<Uint8Array> {
  const { minor } = request;
  if (request.method === "HEAD" || response.status === 204 || response.status === 304) {
    await response.body?.cancel();
    return responseHead(response, "none", minor, close);
  }
  const body = new Uint8Array(await response.arrayBuffer());
  const head = responseHead(response, body.length, minor, close);
  const whole = new Uint8Array(head.length + body.length);
  whole.set(head);
  whole.set(body, head.length);
  return whole;
}

/** An error as the last answer of its connection. */
export function errorBytes(error: HttpError): Promise<Uint8Array> {
  return wholeResponse(error.response(), { method: "GET", minor: 1 }, true);
}

/** Headers that are the connection's to say. */
const OWN: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

/** Pieces as one. */
export function joined(pieces: readonly Piece[]): Piece {
  if (pieces.length === 1) return pieces[0];
  let length = 0;
  for (const piece of pieces) length += piece.length;
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/**
 * Pieces of a chunked body, a chunk each; none of no bytes, which would be the body's end.
 *
 * @param isOver Whether they are the last: the body's end follows on them.
 */
export function chunked(pieces: readonly Piece[], isOver = false): Piece {
  let most = isOver ? LAST_CHUNK.length : 0;
  for (const piece of pieces) most += piece.length + MOST_CHUNK_BYTES;
  const chunks = new Uint8Array(most);
  let at = 0;
  for (const piece of pieces) {
    const size = piece.length.toString(16);
    for (let digit = 0; digit < size.length; digit++) chunks[at++] = size.charCodeAt(digit);
    chunks[at++] = CR;
    chunks[at++] = LF;
    chunks.set(piece, at);
    at += piece.length;
    chunks[at++] = CR;
    chunks[at++] = LF;
  }
  if (isOver) {
    chunks.set(LAST_CHUNK, at);
    at += LAST_CHUNK.length;
  }
  return chunks.subarray(0, at);
}

/** The end of a chunked body. */
export const LAST_CHUNK: Uint8Array = ENCODER.encode("0\r\n\r\n");

let second = 0;
let text = "";

/** The time as HTTP writes it. */
function date(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1000).toUTCString();
  }
  return text;
}
