import { printable } from "../../printable.ts";
import { systemReason } from "../../system_error.ts";
import { mayLead } from "../host_reach.ts";
import { DownloadError, Fault, shownUrl } from "./errors.ts";
import { parseRetryAfter } from "./headers.ts";
import type { Range } from "./ranges.ts";
import type { RemoteFile } from "./types.ts";

/** Redirects that are followed one after the other. */
const MOST_REDIRECTS = 10;
const REDIRECTS = [301, 302, 303, 307, 308];
/** Answers to come back later for, in addition to those from 500 on. */
const LATER = [408, 425, 429];
/** Answers from 500 on that stay what they are. */
const NEVER = [501, 505];

/** A URL, and what may be sent to it. */
interface Place {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

/** Which bytes are asked for. */
export interface Asked {
  /** All of them, where there is none. */
  readonly range?: Range;
  /** An ETag or date: where the file has another one, it is sent whole. */
  readonly ifRange?: string;
}

/** A file on a server: asks for parts of it, and finds the way along redirects. */
export class Remote {
  readonly #start: Place;
  /** Where the redirects led last. Their targets may be signed for a while only. */
  #found: Place | undefined;
  /** Whether anybody ever answered. */
  answered = false;

  /** @throws {DownloadError} `invalid_request` where the URL is none that can be fetched. */
  constructor(file: RemoteFile, private readonly client: Deno.HttpClient) {
    this.#start = firstPlace(file);
  }

  /** What it is called in messages. */
  get name(): string {
    return shownUrl(this.#start.url);
  }

  /**
   * Asks for the file or a part of it: an answer of status 200, 206 or 416.
   *
   * @throws {Fault} Where another try may help.
   * @throws {DownloadError} Where it would not.
   */
  async get(asked: Asked, signal: AbortSignal): Promise<Response> {
    const found = this.#found;
    if (found !== undefined) {
      const response = await this.#ask(found, asked, signal).catch((error) => {
        this.#forget(found);
        throw error;
      });
      // A signature expires; the redirects are followed again from the start.
      if (!isRefusal(response.status) && !REDIRECTS.includes(response.status)) {
        return await this.#answer(found, response);
      }
      await dismiss(response);
      this.#forget(found);
    }
    return await this.#follow(asked, signal);
  }

  /** Another connection may have found another way meanwhile. */
  #forget(found: Place): void {
    if (this.#found === found) this.#found = undefined;
  }

  async #follow(asked: Asked, signal: AbortSignal): Promise<Response> {
    let place = this.#start;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
      const response = await this.#ask(place, asked, signal);
      if (!REDIRECTS.includes(response.status)) {
        const answer = await this.#answer(place, response);
        if (place !== this.#start) this.#found = place;
        return answer;
      }
      await dismiss(response);
      place = await this.#redirected(place, response.headers.get("location"));
    }
    throw new DownloadError(
      "io",
      `${this.name} redirects more than ${MOST_REDIRECTS} times, in a circle perhaps; the last time to ` +
        `${shownUrl(place.url)}.`,
    );
  }

  async #redirected(from: Place, location: string | null): Promise<Place> {
    const here = shownUrl(from.url);
    const url = location === null || location.length > 16384 ? null : URL.parse(location, from.url);
    if (url === null || !["http:", "https:"].includes(url.protocol)) {
      throw new DownloadError("io", `${here} redirects to nowhere that can be fetched by HTTP.`);
    }
    const there = shownUrl(url);
    if (from.url.protocol === "https:" && url.protocol === "http:") {
      throw new DownloadError(
        "io",
        `${here} redirects from https to ${there}, which others could read and change; not followed.`,
      );
    }
    if (!await mayLead(from.url.hostname, url.hostname)) {
      throw new DownloadError(
        "io",
        `${here} redirects to ${there}, on this machine or its network, which is none of a server's ` +
          "business elsewhere; not followed.",
      );
    }
    // A redirect may name no user: the target of a redirect must neither learn of one, nor be given one.
    url.username = url.password = url.hash = "";
    // Headers are for the origin that they were made for; once left, it gets them no more either.
    return { url, headers: url.origin === from.url.origin ? from.headers : {} };
  }

  async #ask({ url, headers }: Place, asked: Asked, signal: AbortSignal): Promise<Response> {
    const sent = new Headers(headers);
    // What is compressed on the way has other bytes, another length and other ranges.
    sent.set("accept-encoding", "identity");
    if (asked.range) {
      sent.set("range", `bytes=${asked.range.start}-${asked.range.end - 1}`);
      if (asked.ifRange !== undefined) sent.set("if-range", asked.ifRange);
    }
    try {
      const response = await fetch(url, {
        headers: sent,
        redirect: "manual",
        signal,
        client: this.client,
      });
      this.answered = true;
      return response;
    } catch (error) {
      if (signal.aborted) throw error;
      const reason = networkReason(error);
      if (/certificate/i.test(reason)) {
        throw new DownloadError(
          "io",
          `${url.origin} cannot be trusted: ${reason}. Where a proxy has a certificate of its own, name ` +
            "the file with those to be trusted: SSL_CERT_FILE=/path/to/bundle.pem.",
        );
      }
      throw new Fault(`${url.origin} cannot be reached: ${reason}`);
    }
  }

  async #answer(place: Place, response: Response): Promise<Response> {
    const { status, headers } = response;
    if (status === 200 || status === 206 || status === 416) return response;
    await dismiss(response);
    this.#forget(place);
    const said = `${shownUrl(place.url)} answers ${status} ${response.statusText}`.trimEnd();
    if (LATER.includes(status) || (status >= 500 && !NEVER.includes(status))) {
      throw new Fault(said, parseRetryAfter(headers.get("retry-after")));
    }
    if (status < 400) throw new Fault(`${said}; wanted 200 or 206`);
    const reason = printable((headers.get("x-error-message") ?? "").slice(0, 300).trim());
    throw new DownloadError(
      status === 404 || status === 410 ? "model_not_found" : "io",
      `${said}${reason && ` (${reason})`}. ${ADVICE[status] ?? OTHER_ADVICE}`,
      status,
    );
  }
}

function firstPlace(file: RemoteFile): Place {
  const url = URL.parse(file.url);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new DownloadError(
      "invalid_request",
      `${JSON.stringify(file.url.slice(0, 200))} is no URL to fetch; wanted one that begins with ` +
        "https:// or http://.",
    );
  }
  const headers: Record<string, string> = { ...file.headers };
  if (url.username || url.password) {
    const user = `${userPart(url.username)}:${userPart(url.password)}`;
    headers.authorization = `Basic ${new TextEncoder().encode(user).toBase64()}`;
    url.username = url.password = "";
  }
  url.hash = "";
  return { url, headers };
}

/** A user's name or password without its escapes. */
function userPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DownloadError(
      "invalid_request",
      "the user's name or password in the URL has a % that is no escape; write %25 for it.",
    );
  }
}

/** Whether a server says no, and not later. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 416 && !LATER.includes(status);
}

const NO_SUCH_FILE =
  "There is no such file: look at the name, the branch and the spelling; a private repository is only " +
  "there with HF_TOKEN.";

/** What to do where a server answers with a status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: "It requires a login: for a private or gated repository of Hugging Face set HF_TOKEN to a " +
    "token from https://huggingface.co/settings/tokens.",
  403:
    "It does not let you have it: for a gated repository of Hugging Face accept its terms on its page, " +
    "and set HF_TOKEN to a token that may read it.",
  404: NO_SUCH_FILE,
  407: "The proxy wants a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT.",
  410: NO_SUCH_FILE,
};
const OTHER_ADVICE = "It will not answer otherwise to another try.";

/** Why something on the network failed; without the URL, whose query may be secret. */
export function networkReason(error: unknown): string {
  return systemReason(error)
    .replace(/^error sending request .*?: client error \(\w+\): /s, "")
    .replace(/\bhttps?:\/\/\S+/g, "(URL)")
    .slice(0, 300);
}

/** Cancels the body of an answer that is not needed. */
export async function dismiss(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {});
}
