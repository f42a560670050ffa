/**
 * Small answers of servers that are not trusted: limited in length and time, checked by a schema.
 *
 * @module
 */
import { delay } from "@std/async/delay";
import type { z } from "zod";
import { M40Error } from "../../errors.ts";
import { createClient } from "../download/http_client.ts";
import { networkReason } from "../download/remote.ts";
import { checkRedirect } from "./redirects.ts";

/** What is asked for. */
export interface Question {
  /** What the answer is, as it completes "… cannot be fetched". */
  readonly what: string;
  /** Sent to the URL's own origin; along a redirect to another one, those of {@link PUBLIC_HEADERS} alone. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxBytes: number;
  /** Whether only the first {@link maxBytes} are wanted of a longer one. */
  readonly cut?: boolean;
  readonly method?: "GET" | "HEAD";
  readonly signal?: AbortSignal;
}

/** An answer, whatever its status. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Where it came from, behind all redirects. */
  readonly url: URL;
}

const MAX_REDIRECTS = 5;
/** How long an answer may take in all, in milliseconds. */
const TIMEOUT_MS = 60_000;
/** Tries in all, and the pause before the second one in milliseconds; it doubles. */
const TRIES = 3;
const PAUSE_MS = 500;
/** The longest that a server may have us wait, in seconds. */
const MOST_RETRY_AFTER = 30;

/**
 * Asks for something small. What fails for a moment (429, 5xx, a connection that breaks) is tried again.
 *
 * @throws {M40Error} `io` where there is no answer, or a longer one than wanted; `cancelled`.
 */
export async function ask(url: URL, question: Question): Promise<Answer> {
  for (let left = TRIES - 1, pause = PAUSE_MS;; left--, pause *= 2) {
    try {
      const answer = await askOnce(url, question);
      const passing = answer.status === 429 || answer.status >= 500;
      if (!passing || left === 0) return answer;
      const after = Number(answer.headers.get("Retry-After") ?? 0);
      if (after > MOST_RETRY_AFTER) return answer;
      await delay(after > 0 ? after * 1000 : pause, { signal: question.signal });
    } catch (error) {
      question.signal?.throwIfAborted();
      if (error instanceof M40Error) throw error;
      if (left === 0) throw unreachable(url, question, error);
      await delay(pause, { signal: question.signal });
    }
  }
}

async function askOnce(url: URL, question: Question): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const signal = question.signal ? AbortSignal.any([question.signal, timeout]) : timeout;
  using client = createClient();
  let at = url;
  for (let redirects = 0;; redirects++) {
    const headers = at.origin === url.origin ? question.headers : withoutSecrets(question.headers);
    const { method } = question;
    const response = await fetch(at, { method, headers, signal, client, redirect: "manual" });
    const location = response.headers.get("Location");
    if (response.status < 300 || response.status >= 400 || location === null) {
      const body = await readBody(response, at, question);
      return { status: response.status, headers: response.headers, body, url: at };
    }
    await response.body?.cancel();
    if (redirects === MAX_REDIRECTS) {
      throw new M40Error(
        "io",
        `${question.what} cannot be fetched: ${url.origin} redirects for ever`,
      );
    }
    at = await checkRedirect(at, location);
  }
}

/** What says which answer is wanted, and nothing of the client: files mostly are at another origin. */
const PUBLIC_HEADERS = ["accept", "accept-encoding", "range"];

function withoutSecrets(headers: Question["headers"] = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => PUBLIC_HEADERS.includes(name.toLowerCase())),
  );
}

async function readBody(response: Response, url: URL, { what, maxBytes, cut }: Question) {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    if (cut && length + chunk.length >= maxBytes) {
      chunks.push(chunk.subarray(0, maxBytes - length));
      length = maxBytes;
      break;
    }
    length += chunk.length;
    // Leaving the loop closes the connection: the rest is not read. Bytes are counted after decompression, so that a
    // small answer cannot become a large one.
    if (length > maxBytes) {
      throw new M40Error(
        "io",
        `${what} cannot be fetched: the answer of ${url.origin} has more than ${maxBytes} bytes`,
      );
    }
    chunks.push(chunk);
  }
  return await new Blob(chunks).bytes();
}

function unreachable(url: URL, { what }: Question, error: unknown): M40Error {
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return new M40Error("io", `${what} cannot be fetched: ${url.origin} does not answer in time`);
  }
  const reason = networkReason(error);
  return new M40Error(
    "io",
    `${what} cannot be fetched: ${url.origin} cannot be reached: ${reason}. ` +
      (/certificate/i.test(reason)
        ? "Where a proxy has a certificate of its own, SSL_CERT_FILE names the file with those to be trusted."
        : "HTTPS_PROXY names a proxy, where one is needed."),
  );
}

/**
 * An answer's text as JSON, checked by a schema.
 *
 * @throws {M40Error} `io`, with what was got instead.
 */
export function parseAnswer<T>(answer: Answer, schema: z.ZodType<T>, what: string): T {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(answer.body));
  } catch {
    const start = new TextDecoder().decode(answer.body.subarray(0, 200)).trim();
    const got = /^<(!doctype|html|\?xml)/i.test(start) ? "a web page" : "something else";
    throw new M40Error(
      "io",
      `${what} cannot be read: ${answer.url.origin} answered with ${got}, wanted JSON. A proxy or a ` +
        "sign-in page may stand between.",
    );
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue.path.length === 0 ? "" : ` at ${issue.path.join(".").slice(0, 100)}`;
  throw new M40Error(
    "io",
    `${what} cannot be read: the answer of ${answer.url.origin} is not what it should be${place}: ` +
      issue.message.slice(0, 300),
  );
}
