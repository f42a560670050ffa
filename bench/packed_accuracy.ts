/**
 * What packed arithmetic costs in accuracy: the perplexity of a text in exact and in packed arithmetic, and how far apart
 * the two distributions of each next token are.
 * `deno run -A bench/packed_accuracy.ts [--model MODEL.gguf] [--text FILE] [--tokens N] [--chunk N] [--device NAME]`
 *
 * Without a model it takes the demo model with its weights in Q4_0, and as its text stories that the demo model tells.
 * Chunks do not know of each other; the second half of each is scored, as `m40 eval --file` does.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl } from "@std/path";
import { negativeLogLikelihood } from "../cli/bench/perplexity.ts";
import { type Arithmetic, Engine } from "../engine/mod.ts";
import { writeQuantised } from "../tools/make_model/quantise.ts";

const DEMO = fromFileUrl(new URL("../tools/demo_model/demo.gguf", import.meta.url));

interface Options {
  readonly device: string;
  readonly tokens: number;
  readonly chunk: number;
}

/** Means over the scored tokens, in nats. */
interface Accuracy {
  readonly scored: number;
  /** Of the token that comes next, in each arithmetic. */
  readonly loss: Readonly<Record<Arithmetic, number>>;
  /** How far packed's distribution is from exact's: its mean, its median and the largest of all. */
  readonly divergence: { readonly mean: number; readonly median: number; readonly most: number };
  /** The share of tokens for which both expect the same token most. */
  readonly sameFirst: number;
}

/** Both engines' logits of the same tokens, chunk by chunk. */
async function compare(
  exact: Engine,
  packed: Engine,
  tokens: readonly number[],
  chunk: number,
): Promise<Accuracy> {
  const { addBos, bos } = exact.tokenizer;
  const loss = { exact: 0, packed: 0 };
  const divergences: number[] = [];
  let same = 0;
  for (let start = 0; start + chunk <= tokens.length; start += chunk) {
    const part = tokens.slice(start, start + chunk);
    if (addBos && bos !== undefined) part[0] = bos;
    const others = packed.evaluate(part)[Symbol.asyncIterator]();
    for await (const { position, logits } of exact.evaluate(part)) {
      const { logits: other } = (await others.next()).value!;
      if (position < chunk >> 1 || position + 1 >= part.length) continue;
      loss.exact += negativeLogLikelihood(logits, part[position + 1]);
      loss.packed += negativeLogLikelihood(other, part[position + 1]);
      divergences.push(divergence(logits, other));
      if (first(logits) === first(other)) same++;
    }
    // It is done now, and lets go of its KV blocks.
    await others.next();
  }
  const scored = divergences.length;
  divergences.sort((a, b) => a - b);
  return {
    scored,
    loss: { exact: loss.exact / scored, packed: loss.packed / scored },
    divergence: {
      mean: divergences.reduce((sum, one) => sum + one, 0) / scored,
      median: divergences[scored >> 1],
      most: divergences[scored - 1],
    },
    sameFirst: same / scored,
  };
}

/** The Kullback-Leibler divergence of the distribution of `other` logits from that of these. */
function divergence(logits: Float32Array, other: Float32Array): number {
  const [ours, theirs] = [logNorm(logits), logNorm(other)];
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    const log = logits[i] - ours;
    sum += Math.exp(log) * (log - (other[i] - theirs));
  }
  return Math.max(sum, 0);
}

/** The logarithm of the sum of the logits' exponentials. */
function logNorm(logits: Float32Array): number {
  const most = logits[first(logits)];
  return most + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0));
}

function first(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

function load(path: string, arithmetic: Arithmetic, { device, chunk }: Options): Promise<Engine> {
  return Engine.load(path, {
    ...{ device, arithmetic, parallel: 1, hostCacheBytes: 0, memoryShare: 0.45 },
    ...{ contextTokens: chunk, logitsOutputs: 64 },
  });
}

/** Stories of the demo model as it is, of so many tokens together. */
async function stories(count: number): Promise<number[]> {
  await using engine = await Engine.load(DEMO, { device: "cpu" });
  const told: number[] = [];
  for (let seed = 0; told.length < count; seed++) {
    const sampling = { temperature: 1, seed };
    for await (const { tokens } of engine.generate({ prompt: "", maxTokens: 700, sampling })) {
      told.push(...tokens.map(({ token }) => token));
    }
  }
  return told.slice(0, count);
}

if (import.meta.main) {
  const given = parseArgs(Deno.args, { string: ["model", "text", "tokens", "chunk", "device"] });
  const { chunk = "512", device = "cpu" } = given;
  const options = { device, chunk: Number(chunk), tokens: Number(given.tokens ?? 16384) };
  const quantised = await Deno.makeTempFile({ suffix: ".gguf" });
  try {
    if (given.model === undefined) await writeQuantised(DEMO, quantised);
    const path = given.model ?? quantised;
    await using exact = await load(path, "exact", options);
    await using packed = await load(path, "packed", options);
    const tokens = given.text === undefined
      ? await stories(options.tokens)
      : exact.tokenizer.encodeBytes(await Deno.readFile(given.text), { addSpecial: false })
        .slice(0, options.tokens);
    const { scored, loss, divergence, sameFirst } = await compare(
      exact,
      packed,
      tokens,
      options.chunk,
    );
    const { quantisation } = exact.model;
    console.log(
      `${given.model ?? "the demo model"}, ${quantisation}, on ${exact.device.name} ` +
        `(${exact.device.backend}); ${scored} of ${tokens.length} tokens scored`,
    );
    console.log(`perplexity, exact   ${Math.exp(loss.exact).toFixed(5)}`);
    console.log(`perplexity, packed  ${Math.exp(loss.packed).toFixed(5)}`);
    console.log(
      `divergence (nats)   mean ${divergence.mean.toExponential(3)}, ` +
        `median ${divergence.median.toExponential(3)}, most ${divergence.most.toExponential(3)}`,
    );
    console.log(`same likeliest      ${(100 * sameFirst).toFixed(2)}%`);
  } finally {
    await Deno.remove(quantised);
  }
}
