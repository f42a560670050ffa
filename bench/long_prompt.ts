/**
 * What a long prompt and decoding sequences cost each other: eight streams run, a prompt arrives, and is computed
 * concurrently with a share of the device, or in chunks between their tokens. `deno run -A bench/long_prompt.ts
 * MODEL.gguf [--device auto] [--tokens 4000] [--prefill-share 0.25,0.5,0.75] [--chunk-ms 50]`, where `--chunk-ms ""`
 * leaves chunks out.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine } from "../engine/mod.ts";

const STREAMS = 8;
/** Tokens of each stream that its rate is taken from before the prompt arrives. */
const BEFORE = 60;

const args = parseArgs(Deno.args, {
  string: ["device", "tokens", "prefill-share", "chunk-ms"],
  default: { device: "auto", tokens: "4000", "prefill-share": "0.25,0.5,0.75", "chunk-ms": "50" },
});
const tokens = Number(args.tokens);
const numbers = (text: string) => text.split(",").filter((one) => one !== "").map(Number);
let seed = 0;
/** Tokens that no earlier prompt started with. */
const madeUp = (count: number) => {
  const first = ++seed;
  return Array.from({ length: count }, (_, i) => 300 + (i * 7 + first * 131) % 1000);
};

interface Measured {
  /** Milliseconds between tokens of the streams: the median without the prompt, and the mean and maximum during it. */
  readonly stepMs: number;
  readonly besideMs: number;
  readonly longestMs: number;
  /** Of the prompt: alone, and with the streams. */
  readonly aloneMs: number;
  readonly promptMs: number;
}

async function measure(prefillShare: number, chunkMs: number): Promise<Measured> {
  const engine = await Engine.load(String(args._[0]), {
    device: args.device,
    parallel: STREAMS + 1,
    contextTokens: tokens + 100,
    prefillShare,
    chunkMs,
  });
  const logitBias = new Map([...engine.tokenizer.endTokens].map((token) => [token, -100]));
  const sampling = { temperature: 0, logitBias };
  const compute = async () => {
    const start = performance.now();
    const request = { prompt: madeUp(tokens), maxTokens: 1, sampling };
    for await (const _ of engine.generate(request));
    return performance.now() - start;
  };
  await compute();
  const aloneMs = await compute();
  // When all streams got a token.
  const times: number[] = [];
  engine.observer = {
    step({ decodeTokens }) {
      if (decodeTokens === STREAMS) times.push(performance.now());
    },
  };
  const stop = new AbortController();
  const streams = Array.from({ length: STREAMS }, async (_, i) => {
    const prompt = madeUp(8 + i);
    const request = { prompt, maxTokens: tokens - 100, sampling, signal: stop.signal };
    for await (const _ of engine.generate(request));
  });
  while (times.length < BEFORE) await new Promise((resolve) => setTimeout(resolve, 5));
  const before = times.length;
  const promptMs = await compute();
  const during = times.length;
  stop.abort();
  await Promise.allSettled(streams);
  await engine.close();
  const gaps = (from: number, to: number) =>
    times.slice(from, to).map((time, i) => time - times[from + i - 1]).sort((a, b) => a - b);
  // The first steps are run in several ways, to see which is fastest.
  const usual = gaps(before - BEFORE / 3, before);
  const others = gaps(before, during);
  return {
    stepMs: usual[usual.length >> 1],
    besideMs: others.reduce((sum, gap) => sum + gap, 0) / others.length,
    longestMs: others[others.length - 1],
    aloneMs,
    promptMs,
  };
}

const settings = [
  ...numbers(args["prefill-share"]).map((share) => ({ name: `share ${share}`, share, ms: 50 })),
  ...numbers(args["chunk-ms"]).map((ms) => ({ name: `chunks of ${ms} ms`, share: 0, ms })),
];
console.log(
  `${STREAMS} streams and a prompt of ${tokens} tokens\n` +
    "                     ms a token     with    rate kept   longest gap   prompt alone      with",
);
for (const { name, share, ms } of settings) {
  const { stepMs, besideMs, longestMs, aloneMs, promptMs } = await measure(share, ms);
  const cells = [
    name.padEnd(20),
    stepMs.toFixed(1).padStart(11),
    besideMs.toFixed(1).padStart(9),
    `${(100 * stepMs / besideMs).toFixed(0)}%`.padStart(12),
    `${(longestMs / stepMs).toFixed(1)} steps`.padStart(14),
    `${(aloneMs / 1000).toFixed(2)} s`.padStart(15),
    `${(promptMs / 1000).toFixed(2)} s (${(promptMs / aloneMs).toFixed(2)}x)`.padStart(16),
  ];
  console.log(cells.join(""));
}
