/**
 * What the server itself costs for each streamed token of a completion and of a chat: the time of a stream over HTTP
 * less that of the same generation from the engine directly. Reading the stream in the same thread is part of it;
 * parsing its JSON is not. `deno run -A bench/server_overhead.ts [MODEL.gguf]`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { serve } from "../server/mod.ts";
import { threadMs } from "./thread_time.ts";
import { appOf } from "../tests/fixtures/fixed_model.ts";

const ROUNDS = 200;
const SHORT = 20;
const LONG = 120;

const path = Deno.args[0] ??
  fromFileUrl(new URL("../tests/data/golden/llama.gguf", import.meta.url));
const engine = await Engine.load(path, { threads: 1, chatTemplate: "{{ messages[0].content }}" });
const controller = new AbortController();
const app = appOf({ engine, modelName: "bench" });
const { port, finished } = serve(app, {
  hostname: "127.0.0.1",
  port: 0,
  signal: controller.signal,
});

// One token again and again, that is a whole character: every token is an event.
const token = engine.tokenizer.encode("a").at(-1)!;
const prompt = engine.tokenizer.encode("a");

/** Milliseconds by the clock, and of the thread's processor time. */
interface Cost {
  readonly clock: number;
  readonly processor: number;
}

function since(clock: number, processor: number): Cost {
  return { clock: performance.now() - clock, processor: threadMs() - processor };
}

/** What that many tokens take from the engine. */
async function direct(maxTokens: number): Promise<Cost> {
  const [start, computed] = [performance.now(), threadMs()];
  const sampling = { temperature: 0, logitBias: new Map([[token, 100]]) };
  let tokens = 0;
  for await (const chunk of engine.generate({ prompt, maxTokens, sampling })) {
    tokens += chunk.tokens.length;
  }
  if (tokens !== maxTokens) throw new Error(`the engine gave ${tokens} tokens`);
  return since(start, computed);
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

/** What a stream of that many tokens takes, each on a connection of its own. */
async function streamed(kind: Kind, maxTokens: number): Promise<Cost> {
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
  const [start, computed] = [performance.now(), threadMs()];
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(encoder.encode(request));
  for (let n; (n = await connection.read(buffer)) !== null;) {
    texts.push(decoder.decode(buffer.subarray(0, n), { stream: true }));
  }
  const cost = since(start, computed);
  const events = texts.join("").split("data: {").length - 1;
  if (events !== maxTokens + kind.moreEvents) throw new Error(`the stream had ${events} events`);
  return cost;
}

/** The medians of what the server adds to that many tokens. */
async function added(kind: Kind, tokens: number): Promise<Cost> {
  const more: Cost[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const [alone, whole] = [await direct(tokens), await streamed(kind, tokens)];
    more.push({ clock: whole.clock - alone.clock, processor: whole.processor - alone.processor });
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[ROUNDS >> 1];
  return {
    clock: median(more.map(({ clock }) => clock)),
    processor: median(more.map(({ processor }) => processor)),
  };
}

console.log(`the server's own cost, medians of ${ROUNDS} requests of ${SHORT} and ${LONG} tokens:`);
for (const kind of KINDS) {
  await added(kind, LONG); // Warms up.
  const [short, long] = [await added(kind, SHORT), await added(kind, LONG)];
  const perToken = (key: keyof Cost) => (long[key] - short[key]) / (LONG - SHORT);
  const token = (key: keyof Cost) => (perToken(key) * 1000).toFixed(1);
  const request = (key: keyof Cost) => ((short[key] - SHORT * perToken(key)) * 1000).toFixed(0);
  console.log(`${kind.name}:`);
  console.log(
    `  ${token("clock")} µs a streamed token, ${token("processor")} of the processor`,
  );
  console.log(
    `  ${request("clock")} µs a request, its connection included, ` +
      `${request("processor")} of the processor`,
  );
}

controller.abort();
await finished;
await engine.close();
