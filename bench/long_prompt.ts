/**
 * How long a long prompt holds up those who decode: the steps of seven running streams while a prompt
 * of so many tokens arrives. `deno run -A bench/long_prompt.ts MODEL.gguf [--device auto]
 * [--tokens 4000] [--chunk-ms 50]`
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine } from "../engine/mod.ts";

const STREAMS = 7;

const args = parseArgs(Deno.args, {
  string: ["device", "tokens", "chunk-ms"],
  default: { device: "auto", tokens: "4000", "chunk-ms": "50" },
});
const tokens = Number(args.tokens);
const engine = await Engine.load(String(args._[0]), {
  device: args.device,
  parallel: STREAMS + 1,
  contextTokens: tokens + 100,
  chunkMs: Number(args["chunk-ms"]),
});
const decodes: number[] = [];
const mixed: { ms: number; tokens: number }[] = [];
engine.observer = {
  step({ promptTokens, decodeTokens, milliseconds }) {
    if (decodeTokens !== STREAMS) return;
    if (promptTokens === 0) decodes.push(milliseconds);
    else mixed.push({ ms: milliseconds, tokens: promptTokens });
  },
};
const logitBias = new Map([...engine.tokenizer.endTokens].map((token) => [token, -100]));
const sampling = { temperature: 0, logitBias };
const madeUp = (count: number) => Array.from({ length: count }, (_, i) => 300 + i * 7 % 1000);

let begun = 0;
const streams = Array.from({ length: STREAMS }, async (_, i) => {
  let drawn = 0;
  const prompt = madeUp(8 + i);
  for await (const _ of engine.generate({ prompt, maxTokens: tokens - 100, sampling })) {
    if (++drawn === 20) begun++;
    if (mixed.length > 0 && answered) break;
  }
});
let answered = false;
while (begun < STREAMS) await new Promise((resolve) => setTimeout(resolve, 10));
const start = performance.now();
for await (const _ of engine.generate({ prompt: madeUp(tokens), maxTokens: 1, sampling }));
answered = true;
const prompt = performance.now() - start;
await Promise.all(streams);
await engine.close();

const median = decodes.toSorted((a, b) => a - b)[decodes.length >> 1];
const delays = mixed.map(({ ms }) => ms - median).sort((a, b) => a - b);
console.log(
  `${STREAMS} streams decode in ${
    median.toFixed(1)
  } ms a step; a prompt of ${tokens} tokens took ` +
    `${(prompt / 1000).toFixed(2)} s in ${mixed.length} chunks of ${
      Math.min(...mixed.map((m) => m.tokens))
    } to ${Math.max(...mixed.map((m) => m.tokens))} tokens, which delayed a step by ` +
    `${delays[delays.length >> 1].toFixed(1)} ms (median), ${
      delays.at(-1)!.toFixed(1)
    } ms (most); ` +
    `${args["chunk-ms"]} ms are allowed`,
);
