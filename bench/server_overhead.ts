/**
 * What the server itself costs for each streamed token of a completion and of a chat: the time of a stream over HTTP
 * less that of the same generation from the engine directly. Reading the stream in the same thread is part of it;
 * parsing its JSON is not. `deno run -A bench/server_overhead.ts [MODEL.gguf]`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { createApp, serve } from "../server/mod.ts";

const ROUNDS = 200;
const SHORT = 20;
const LONG = 120;

const path = Deno.args[0] ??
  fromFileUrl(new URL("../tests/data/golden/llama.gguf", import.meta.url));
const engine = await Engine.load(path, { threads: 1, chatTemplate: "{{ messages[0].content }}" });
const controller = new AbortController();
const app = createApp({ engine, modelName: "bench" });
const { port, finished } = serve(app, {
  hostname: "127.0.0.1",
  port: 0,
  signal: controller.signal,
});

// One token again and again, that is a whole character: every token is an event.
const token = engine.tokenizer.encode("a").at(-1)!;
const prompt = engine.tokenizer.encode("a");

/** Milliseconds that the engine takes for that many tokens. */
async function direct(maxTokens: number): Promise<number> {
  const start = performance.now();
  const sampling = { temperature: 0, logitBias: new Map([[token, 100]]) };
  let tokens = 0;
  for await (const chunk of engine.generate({ prompt, maxTokens, sampling })) {
    tokens += chunk.tokens.length;
  }
  if (tokens !== maxTokens) throw new Error(`the engine gave ${tokens} tokens`);
  return performance.now() - start;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const buffer = new Uint8Array(65536);

/** A kind of stream. */
interface Kind {
  readonly name: string;
  readonly path: string;
  /** What is asked. */
  readonly asked: Record<string, unknown>;
  /** Events in addition to one a token. */
  readonly moreEvents: number;
}

const KINDS: readonly Kind[] = [
  { name: "a completion", path: "/v1/completions", asked: { prompt }, moreEvents: 0 },
  {
    name: "a chat",
    path: "/v1/chat/completions",
    asked: { messages: [{ role: "user", content: "a" }] },
    // The first, with the role, and the last, with the reason.
    moreEvents: 2,
  },
];

/** Milliseconds that a stream of that many tokens takes, each on a connection of its own. */
async function streamed(kind: Kind, maxTokens: number): Promise<number> {
  const body = JSON.stringify({
    ...kind.asked,
    max_tokens: maxTokens,
    temperature: 0,
    logit_bias: { [token]: 100 },
    stream: true,
  });
  const request = `POST ${kind.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const texts: string[] = [];
  const start = performance.now();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(request));
  for (let n; (n = await connection.read(buffer)) !== null;) {
    texts.push(decoder.decode(buffer.subarray(0, n), { stream: true }));
  }
  const elapsed = performance.now() - start;
  const events = texts.join("").split("data: {").length - 1;
  if (events !== maxTokens + kind.moreEvents) throw new Error(`the stream had ${events} events`);
  return elapsed;
}

/** The median of what the server adds to that many tokens, in milliseconds. */
async function added(kind: Kind, tokens: number): Promise<number> {
  const differences: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    differences.push(-await direct(tokens) + await streamed(kind, tokens));
  }
  return differences.sort((a, b) => a - b)[ROUNDS >> 1];
}

console.log(`the server's own cost, medians of ${ROUNDS} requests of ${SHORT} and ${LONG} tokens:`);
for (const kind of KINDS) {
  await added(kind, LONG); // Warms up.
  const [short, long] = [await added(kind, SHORT), await added(kind, LONG)];
  const perToken = (long - short) / (LONG - SHORT);
  const perRequest = short - SHORT * perToken;
  console.log(`${kind.name}:`);
  console.log(`  ${(perToken * 1000).toFixed(1)} µs a streamed token`);
  console.log(`  ${(perRequest * 1000).toFixed(0)} µs a request, its connection included`);
}

controller.abort();
await finished;
await engine.close();
