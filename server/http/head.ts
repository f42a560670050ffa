/**
 * The head of an HTTP/1.1 request, read strictly (RFC 9112). What two readers could understand in two
 * ways is refused: behind a proxy that understands it otherwise it would smuggle a request past it.
 *
 * @module
 */
import { HttpError } from "../errors.ts";
import { MAX_HEAD_BYTES, MAX_HEADERS } from "./limits.ts";

/** How a request's body is delimited. */
export type BodyFraming =
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" };

/** What a request's head says. */
export interface RequestHead {
  readonly method: string;
  /** Absolute, as {@link Request} wants it. */
  readonly url: string;
  /** The minor version: 0 or 1. */
  readonly minor: 0 | 1;
  /** By their names in small letters; what came several times is joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  readonly framing: BodyFraming;
  /** Whether the client wants to use the connection again. */
  readonly keepAlive: boolean;
  /** Whether the client waits for a word before it sends the body. */
  readonly expectsContinue: boolean;
}

const LF = 10;
const CR = 13;

/** Finds the end of a head in bytes that arrive bit by bit; looks at each byte once. */
export class HeadScanner {
  private scanned = 0;
  private lineStart = 0;

  /**
   * The length of the head with the empty line at its end, or undefined while it is not complete.
   *
   * @param bytes All that has arrived of the head, more than at the last call.
   * @throws {HttpError} 400 for a line that ends without a carriage return, 431 for a head too long.
   */
  scan(bytes: Uint8Array): number | undefined {
    for (;;) {
      const at = bytes.indexOf(LF, this.scanned);
      if (at < 0) break;
      this.scanned = at + 1;
      if (at === 0 || bytes[at - 1] !== CR) {
        throw malformed("A line ends with LF alone; lines of HTTP end with CR LF.");
      }
      if (at - 1 === this.lineStart) return at + 1;
      this.lineStart = at + 1;
    }
    this.scanned = bytes.length;
    if (bytes.length >= MAX_HEAD_BYTES) {
      if (this.lineStart === 0 && LONG_TARGET.test(characters(bytes))) throw targetTooLong();
      throw new HttpError(
        431,
        "headers_too_large",
        `The request's head is longer than ${MAX_HEAD_BYTES} bytes, which is the most that is read. ` +
          "Send fewer or shorter headers.",
      );
    }
    return undefined;
  }
}

const REQUEST_LINE = /^([A-Z][A-Z_-]{0,19}) ([!-~]+) HTTP\/(\d)\.(\d)$/;
const LONG_TARGET = /^[A-Z][A-Z_-]{0,19} [!-~]+$/;
const MAX_TARGET = 8192;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const HOST = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~-]+)(:\d{0,5})?$/;
/** A list that has the element "close". */
const CLOSE = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i;

/**
 * Reads a head.
 *
 * @param bytes The head as {@link HeadScanner} found it, at most {@link MAX_HEAD_BYTES} long.
 * @throws {HttpError} 400 for what is no HTTP/1.1, or could be understood in two ways; 414 for a target too
 * long; 417 for an expectation that is not known; 421 for a target of https; 431 for too many headers; 501 for a method or
 * a transfer coding that is not known; 505 for another version.
 */
export function parseHead(bytes: Uint8Array): RequestHead {
  const [requestLine, ...lines] = characters(bytes.subarray(0, -4)).split("\r\n");
  const match = REQUEST_LINE.exec(requestLine);
  if (match === null) {
    throw malformed(
      `The request's first line is ${
        shown(requestLine)
      }; a method, a path and HTTP/1.1 were expected.`,
    );
  }
  const [, method, target, major, version] = match;
  if (target.length > MAX_TARGET) throw targetTooLong();
  if (major !== "1" || (version !== "0" && version !== "1")) {
    throw new HttpError(
      505,
      "http_version",
      `The request is of HTTP/${major}.${version}; this server speaks HTTP/1.1.`,
    );
  }
  // The platform's Request takes none of them.
  if (method === "CONNECT" || method === "TRACE" || method === "TRACK") {
    throw new HttpError(501, "method_unknown", `This server knows no ${method}.`);
  }
  const minor = version === "0" ? 0 : 1;
  const headers = parseHeaders(lines);
  const host = headers.get("host") ?? (minor === 0 ? "localhost" : undefined);
  if (host === undefined) {
    throw malformed("The request has no Host header, which HTTP/1.1 wants.");
  }
  if (!HOST.test(host)) throw malformed(`The Host header is ${shown(host)}, which is no host.`);
  const expect = minor === 0 ? undefined : headers.get("expect");
  return {
    method,
    url: urlOf(method, target, host),
    minor,
    headers,
    framing: framingOf(headers, minor),
    keepAlive: minor === 1 && !CLOSE.test(headers.get("connection") ?? ""),
    expectsContinue: expect !== undefined && isContinue(expect),
  };
}

function parseHeaders(lines: readonly string[]): Map<string, string> {
  if (lines.length > MAX_HEADERS) {
    throw new HttpError(
      431,
      "headers_too_large",
      `The request has ${lines.length} headers; at most ${MAX_HEADERS} are read.`,
    );
  }
  const headers = new Map<string, string>();
  for (const line of lines) {
    const { name, value } = parseField(line);
    const before = headers.get(name);
    if (before !== undefined && SINGLE.has(name)) {
      throw malformed(`The header ${name} comes twice.`);
    }
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

/**
 * A line with a name and a value.
 *
 * @throws {HttpError} 400 for one that is none.
 */
export function parseField(line: string): { name: string; value: string } {
  const colon = line.indexOf(":");
  const name = line.slice(0, Math.max(0, colon)).toLowerCase();
  // A name of no letters is also that of a line that goes on (obs-fold).
  if (!NAME.test(name)) {
    throw malformed(
      `A header's line is ${shown(line)}; a name, a colon and a value were expected.`,
    );
  }
  // Not `trim`, for which other characters are blank too.
  let from = colon + 1;
  let end = line.length;
  while (line[from] === " " || line[from] === "\t") from++;
  while (end > from && (line[end - 1] === " " || line[end - 1] === "\t")) end--;
  const value = line.slice(from, end);
  if (!VALUE.test(value)) throw malformed(`The header ${name} has a control character.`);
  return { name, value };
}

/** A text with a character for each byte. (TextDecoder's "latin1" is another encoding.) */
export function characters(bytes: Uint8Array): string {
  // Spreading the bytes would do the same at three times the cost.
  return String.fromCharCode.apply(null, bytes as unknown as number[]);
}

/** Headers whose repetition could be understood in two ways. */
const SINGLE: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "content-type",
  "authorization",
]);

/**
 * The URL of a target: a path, a whole URL as a proxy's client sends it, or `*`, which means the server and which
 * the root stands for.
 */
function urlOf(method: string, target: string, host: string): string {
  if (target === "*" && method === "OPTIONS") return `http://${host}/`;
  const isPath = target.startsWith("/");
  const url = isPath ? `http://${host}${target}` : target;
  if ((!isPath && !isOf(host, url)) || url.includes("#") || !URL.canParse(url)) {
    throw malformed(
      `The request's target is ${shown(target)}; a path that begins with / was expected.`,
    );
  }
  return url;
}

/** Whether a target that is no path is a URL of the host. */
function isOf(host: string, target: string): boolean {
  const [, scheme, authority] = /^(https?):\/\/([^/?#]*)/i.exec(target) ?? [];
  if (scheme?.toLowerCase() === "https") {
    throw new HttpError(
      421,
      "misdirected_request",
      `The request's target is ${
        shown(target)
      }, and this connection is not encrypted. Ask for a path, or for http://.`,
    );
  }
  return authority !== undefined && originOf(authority) === originOf(host);
}

/** A host and its port in the one spelling that all spellings of them have. */
function originOf(authority: string): string {
  return authority.toLowerCase().replace(/:(80)?$/, "");
}

function framingOf(headers: ReadonlyMap<string, string>, minor: 0 | 1): BodyFraming {
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (coding !== undefined) {
    if (length !== undefined || minor === 0) {
      throw malformed(
        "The request has a Transfer-Encoding " +
          (length !== undefined ? "and a Content-Length; send one of them." : "in HTTP/1.0."),
      );
    }
    if (coding.toLowerCase() !== "chunked") {
      throw new HttpError(
        501,
        "transfer_encoding",
        `The Transfer-Encoding is ${shown(coding)}; only "chunked" is known.`,
      );
    }
    return { kind: "chunked" };
  }
  if (length === undefined) return { kind: "length", bytes: 0 };
  if (!/^\d{1,15}$/.test(length)) {
    throw malformed(`The Content-Length is ${shown(length)}; a number of bytes was expected.`);
  }
  return { kind: "length", bytes: Number(length) };
}

function isContinue(expect: string): true {
  if (expect.toLowerCase() === "100-continue") return true;
  throw new HttpError(
    417,
    "expectation_failed",
    `The Expect header is ${shown(expect)}; only "100-continue" is known.`,
  );
}

function targetTooLong(): HttpError {
  return new HttpError(
    414,
    "target_too_long",
    `The request's target is longer than ${MAX_TARGET} bytes. Send what is long in the body.`,
  );
}

/** An answer to what is no HTTP. */
export function malformed(message: string): HttpError {
  return new HttpError(400, "malformed_request", message);
}

function shown(text: string): string {
  return JSON.stringify(text.length <= 100 ? text : text.slice(0, 100) + "…");
}
