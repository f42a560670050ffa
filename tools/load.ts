/**
 * Puts a server under load and reports what its clients saw. Each client sends one request after the
 * other: prompts short, long, and behind a text that others have too; streamed and whole; some clients
 * leave before the end. Exits with 1 if any answer was wrong.
 *
 * `deno task load [--clients N] [--seconds S] [--url URL] [--api-key KEY] [--seed N]
 * [--mix short=4,shared=3,long=1] [--streamed 0.7] [--leaving 0.1] [--json]`
 *
 * Times are taken where an event has been read in this process. It shares the machine with the server if
 * that is here, and takes part of its processors.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { headersOf, runClient, type Target } from "./load/client.ts";
import { type Mix, PROMPT_KINDS, type PromptKind, RequestSource } from "./load/requests.ts";
import { formatReport, type Report, Results } from "./load/results.ts";

/** How long answers may take once no more requests are sent, in seconds. */
const GRACE_SECONDS = 120;

const USAGE =
  `usage: deno task load [--clients N] [--seconds S] [--url URL] [--api-key KEY] [--seed N]
  [--mix short=4,shared=3,long=1] [--streamed 0.7] [--leaving 0.1] [--json]`;

/** A run of the load generator. */
export interface LoadOptions {
  /** 1 to 1024. */
  readonly clients: number;
  /** For so long new requests are sent; 1 to 86,400. */
  readonly seconds: number;
  readonly url: string;
  readonly apiKey?: string;
  readonly seed: number;
  readonly mix: Mix;
  /** Shares from 0 to 1. */
  readonly streamed: number;
  readonly leaving: number;
}

export const LOAD_DEFAULTS: LoadOptions = {
  clients: 8,
  seconds: 30,
  url: "http://127.0.0.1:11434",
  seed: 1,
  mix: { short: 4, shared: 3, long: 1 },
  streamed: 0.7,
  leaving: 0.1,
};

/**
 * Runs the clients.
 *
 * @throws {Error} Where the server does not answer as m40 does.
 */
export async function load(options: LoadOptions): Promise<Report> {
  using http = Deno.createHttpClient({ poolMaxIdlePerHost: options.clients });
  const target: Target = { url: options.url.replace(/\/+$/, ""), apiKey: options.apiKey, http };
  const model = await look(target);
  const results = new Results();
  const start = performance.now();
  const until = start + options.seconds * 1000;
  const end = new AbortController();
  const timer = setTimeout(() => end.abort(), (options.seconds + GRACE_SECONDS) * 1000);
  const clients = Array.from({ length: options.clients }, (_, i) => {
    const seed = options.seed * 100_003 + i;
    const source = new RequestSource(seed, { ...options, ...model });
    return runClient(target, source, seed + 50_021, results, until, end.signal);
  });
  await Promise.all(clients);
  clearTimeout(timer);
  return results.report((performance.now() - start) / 1000);
}

/** What prompts are made after: the context's length and how many tokens a word takes. */
async function look(target: Target): Promise<{ contextTokens: number; tokensPerWord: number }> {
  const headers = headersOf(target);
  const ask = async (path: string, body?: unknown) => {
    const init = body === undefined ? { headers } : {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    };
    const response = await fetch(target.url + path, { ...init, client: target.http });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: status ${response.status}: ${text.slice(0, 300)}`);
    return JSON.parse(text);
  };
  const words = "one two small old red quick quiet river";
  const { usage } = await ask("/v1/completions", { prompt: words, max_tokens: 1 });
  // The model that has just answered comes first.
  const contextTokens = (await ask("/v1/models")).data[0].context_length;
  return { contextTokens, tokensPerWord: Math.max(1, usage.prompt_tokens / 8) * 1.1 };
}

function readOptions(args: string[]): LoadOptions & { json: boolean } {
  const given = parseArgs(args, {
    string: ["clients", "seconds", "url", "api-key", "seed", "mix", "streamed", "leaving"],
    boolean: ["json", "help"],
    alias: { h: "help" },
    unknown: (name) => fail(`there is no option ${name}`),
  });
  if (given.help) {
    console.log(USAGE);
    Deno.exit(0);
  }
  const number = (name: keyof typeof given, fallback: number, min: number, max: number) => {
    const text = given[name] as string | undefined;
    const value = text === undefined ? fallback : text.trim() === "" ? NaN : Number(text);
    if (!(value >= min && value <= max)) fail(`--${name}: got ${text}, wanted ${min} to ${max}`);
    return value;
  };
  const defaults = LOAD_DEFAULTS;
  const url = given.url ?? defaults.url;
  if (!/^https?:\/\/[^/]/.test(url)) fail(`--url: got ${url}, wanted http://HOST:PORT`);
  return {
    clients: Math.floor(number("clients", defaults.clients, 1, 1024)),
    seconds: number("seconds", defaults.seconds, 1, 86_400),
    url,
    apiKey: given["api-key"] ?? (Deno.env.get("M40_API_KEY") || undefined),
    seed: Math.floor(number("seed", defaults.seed, 0, 2 ** 31)),
    mix: given.mix === undefined ? defaults.mix : readMix(given.mix),
    streamed: number("streamed", defaults.streamed, 0, 1),
    leaving: number("leaving", defaults.leaving, 0, 1),
    json: given.json,
  };
}

function readMix(text: string): Mix {
  const mix: Record<PromptKind, number> = { short: 0, shared: 0, long: 0 };
  for (const part of text.split(",")) {
    const [kind, weight] = part.split("=");
    const known = (PROMPT_KINDS as readonly string[]).includes(kind);
    if (!known || !/^\d+(\.\d+)?$/.test(weight ?? "")) {
      fail(`--mix: got ${part}, wanted a list such as short=4,shared=3,long=1`);
    }
    mix[kind as PromptKind] = Number(weight);
  }
  if (PROMPT_KINDS.every((kind) => mix[kind] === 0)) fail("--mix: all weights are 0");
  return mix;
}

function fail(message: string): never {
  console.error(`error: ${message}`);
  Deno.exit(2);
}

if (import.meta.main) {
  const options = readOptions(Deno.args);
  const report = await load(options).catch((error) => {
    console.error(`error: ${options.url}: ${error.message}`);
    Deno.exit(1);
  });
  console.log(options.json ? JSON.stringify(report) : formatReport(report));
  Deno.exit(Object.keys(report.errors).length > 0 ? 1 : 0);
}
