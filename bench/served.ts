/**
 * What a server adds to a batch: tokens a second of N streams over HTTP, once all of them decode,
 * beside what the device gives for a batch of N at the same depth without server and scheduler.
 * `deno run -A bench/served.ts [MODEL.gguf] [--device auto] [--clients 8,32] [--tokens 256]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { benchmark, Engine } from "../engine/mod.ts";
import { createApp, serve } from "../server/mod.ts";

const PROMPT = "Once upon a time";
/** Characters that a text of random weights may have, besides what follows in the event. */
const decoder = new TextDecoder();

const args = parseArgs(Deno.args, {
  string: ["device", "clients", "tokens"],
  default: { device: "auto", clients: "8,32", tokens: "256" },
});
const clients = String(args.clients).split(",").map(Number);
const tokens = Number(args.tokens);
const path = String(
  args._[0] ?? fromFileUrl(new URL("../tools/demo_model/demo.gguf", import.meta.url)),
);
const engine = await Engine.load(path, {
  device: args.device,
  parallel: Math.max(...clients),
  contextTokens: Math.max(512, tokens + 64),
});
const app = createApp({ engine, modelName: "bench" });
const controller = new AbortController();
const { port, finished } = serve(app, {
  hostname: "127.0.0.1",
  port: 0,
  signal: controller.signal,
  drainMs: 0,
});

/** The times at which a stream's tokens arrived. */
async function stream(seed: number): Promise<number[]> {
  // Random weights end a text soon; without their end tokens all are as long as was asked for.
  const logit_bias = Object.fromEntries([...engine.tokenizer.endTokens].map((t) => [t, -100]));
  const response = await fetch(`http://127.0.0.1:${port}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      model: "bench",
      prompt: PROMPT,
      max_tokens: tokens,
      stream: true,
      seed,
      logprobs: 0,
      logit_bias,
    }),
  });
  const times: number[] = [];
  for await (const chunk of response.body!) {
    const events = decoder.decode(chunk).split("data: {").length - 1;
    const now = performance.now();
    for (let i = 0; i < events; i++) times.push(now);
  }
  return times;
}

for (const n of clients) {
  await stream(0);
  const gaps: number[] = [];
  engine.observer = {
    ...engine.observer,
    step: ({ gapMilliseconds, decodeTokens }) => {
      if (gapMilliseconds !== undefined && decodeTokens === n) gaps.push(gapMilliseconds);
    },
  };
  const streams = await Promise.all(Array.from({ length: n }, (_, i) => stream(i)));
  const start = Math.max(...streams.map((times) => times[2]));
  const end = Math.min(...streams.map((times) => times.at(-1)!));
  const arrived = streams.flat().filter((time) => time > start && time <= end).length;
  const served = arrived / (end - start) * 1000;
  const depth = tokens >> 1;
  const plan = { prompts: [], batches: [n], depths: [depth], steps: 32, repetitions: 3 };
  for await (const { tokens, milliseconds } of benchmark(engine, plan)) {
    const alone = tokens / Math.min(...milliseconds) * 1000;
    const gap = gaps.toSorted((a, b) => a - b)[gaps.length >> 1];
    console.log(
      `${n} clients: ${served.toFixed(1)} tokens/s served, ${
        alone.toFixed(1)
      } by the device alone: ` +
        `${(100 * served / alone).toFixed(1)}%; median gap between steps ${gap?.toFixed(3)} ms`,
    );
  }
}
controller.abort();
await finished;
await engine.close();
