import { TextLineStream } from "@std/streams";
import { Random } from "./random.ts";
import type { LoadRequest, RequestSource } from "./requests.ts";
import type { Results } from "./results.ts";

/** Where requests go. */
export interface Target {
  /** The server, such as `http://127.0.0.1:11434`. */
  readonly url: string;
  readonly apiKey?: string;
  /** Keeps the connections of all clients. */
  readonly http?: Deno.HttpClient;
}

/** Something that is wrong with an answer; its message is the kind of error that is counted. */
class WrongAnswer extends Error {}

/** The server's queue was full; `seconds` is when it wants to be asked again. */
class Refused extends Error {
  constructor(readonly seconds: number) {
    super("refused");
  }
}

/** The headers of a request to the server. */
export function headersOf({ apiKey }: Target): Record<string, string> {
  return {
    "Content-Type": "application/json",
    ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
  };
}

/**
 * One client: sends a request, reads (or leaves) its answer, and sends the next one at once.
 *
 * @param until When no more requests are sent, by `performance.now()`.
 * @param signal Ends what still runs; that counts as an error.
 */
export async function runClient(
  target: Target,
  source: RequestSource,
  seed: number,
  results: Results,
  until: number,
  signal: AbortSignal,
): Promise<void> {
  const random = new Random(seed);
  while (performance.now() < until && !signal.aborted) {
    const request = source.next();
    try {
      if (request.ending === "disconnect" && target.url.startsWith("http://")) {
        await hangUp(target, request, random.integer(0, 200));
        results.left++;
      } else await send(target, request, random, results, signal);
    } catch (error) {
      if (error instanceof Refused) {
        results.refused++;
        const wait = Math.min(error.seconds * 1000, Math.max(0, until - performance.now()));
        // Not all at the same moment.
        await sleep(wait * (0.75 + 0.25 * random.next()));
        continue;
      }
      results.error(signal.aborted ? "unfinished when the time was over" : kindOf(error));
      // A server that is gone is not asked ten thousand times a second.
      await sleep(100);
    }
  }
}

async function send(
  target: Target,
  request: LoadRequest,
  random: Random,
  results: Results,
  signal: AbortSignal,
): Promise<void> {
  const leave = new AbortController();
  const start = performance.now();
  const response = await fetch(`${target.url}/v1/completions`, {
    method: "POST",
    headers: headersOf(target),
    body: JSON.stringify(request.body),
    signal: AbortSignal.any([leave.signal, signal]),
    client: target.http,
  });
  if (!response.ok) throw await failure(response);
  if (request.ending !== "read") {
    await leaveStream(response, random.integer(1, 8));
    leave.abort();
    results.left++;
    return;
  }
  const usage = request.stream
    ? await readStream(response, start, results)
    : (await response.json()).usage;
  if (!Number.isInteger(usage?.completion_tokens)) throw new WrongAnswer("an answer without usage");
  results.whole.add(performance.now() - start);
  results.completed++;
  results.promptTokens += usage.prompt_tokens;
  results.generatedTokens += usage.completion_tokens;
}

/** Reads a stream to its end and returns its usage. */
async function readStream(response: Response, start: number, results: Results) {
  let usage: { prompt_tokens: number; completion_tokens: number } | undefined;
  let finished = false;
  let done = false;
  let last: number | undefined;
  for await (const data of events(response)) {
    if (done) throw new WrongAnswer("an event after [DONE]");
    if (data === "[DONE]") {
      done = true;
      continue;
    }
    const event = JSON.parse(data);
    if (event.error) throw new WrongAnswer(`an error in a stream: ${event.error.code}`);
    usage = event.usage ?? usage;
    const [choice] = event.choices;
    if (choice === undefined) continue;
    if (finished) throw new WrongAnswer("text after the finish reason");
    finished = choice.finish_reason !== null;
    if (choice.text === "") continue;
    const now = performance.now();
    if (last === undefined) results.firstToken.add(now - start);
    else results.perToken.add(now - last);
    last = now;
  }
  if (!finished || !done) throw new WrongAnswer("a stream that was cut off");
  return usage;
}

/** Reads some events of a stream. */
async function leaveStream(response: Response, count: number): Promise<void> {
  let read = 0;
  for await (const _ of events(response)) if (++read >= count) break;
}

/** The data of an event stream's events. */
async function* events(response: Response): AsyncGenerator<string> {
  const lines = response.body!
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream());
  for await (const line of lines) if (line.startsWith("data: ")) yield line.slice(6);
}

/**
 * Sends a request and closes the connection after a while, whatever came. Not with `fetch()`, which may
 * keep the connection of a request that it gave up.
 */
async function hangUp(target: Target, request: LoadRequest, milliseconds: number): Promise<void> {
  const { hostname, port } = new URL(target.url);
  const body = new TextEncoder().encode(JSON.stringify(request.body));
  const headers = Object.entries(headersOf(target)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /v1/completions HTTP/1.1\r\nHost: ${hostname}\r\n${headers.join("")}` +
    `Content-Length: ${body.length}\r\n\r\n`;
  using connection = await Deno.connect({
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 80),
  });
  for (const bytes of [new TextEncoder().encode(head), body]) {
    for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  }
  await sleep(milliseconds);
}

async function failure(response: Response): Promise<Error> {
  const text = await response.text();
  if (response.status === 429) {
    const seconds = Number(response.headers.get("retry-after"));
    if (Number.isFinite(seconds) && seconds > 0) return new Refused(seconds);
    return new WrongAnswer("429 without Retry-After");
  }
  let code = "";
  try {
    code = JSON.parse(text).error.code;
  } catch {
    // Not an answer of this server; its status says enough.
  }
  return new WrongAnswer(`status ${response.status} ${code}`.trim());
}

function kindOf(error: unknown): string {
  if (error instanceof WrongAnswer) return error.message;
  if (error instanceof SyntaxError) return "an answer that is not JSON";
  return error instanceof Error ? `${error.name}: ${error.message.slice(0, 120)}` : String(error);
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
