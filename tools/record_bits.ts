/**
 * Writes down what this version computes, to the bit, so that another version can be compared with it:
 * the logits of the golden models and 1,000 requests served many at a time, a line each.
 *
 * `deno run -A tools/record_bits.ts [--device cpu|cuda|emulated] [--requests 1000] OUT`
 *
 * Two versions on the same machine agree where `diff` of their files is empty.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { Engine, type GenerateRequest, type KvType } from "../engine/mod.ts";

const GOLDEN = new URL("../tests/data/golden/", import.meta.url);
const DEMO = new URL("demo_model/demo.gguf", import.meta.url).pathname;
const MODELS = ["llama", "llama3-tied-ropescaled", "mixtral-moe"];
/** Requests that are under way at the same time; more than run, so that some wait. */
const AT_ONCE = 24;

/** FNV-1a over bytes. */
function digest(bytes: Uint8Array): string {
  let hash = 0x811C9DC5;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, "0");
}

/** Numbers that are the same in every run (Numerical Recipes' LCG). */
function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

/** The i-th of many different requests; some begin alike, some sample in every way that there is. */
function requestOf(i: number): GenerateRequest {
  const random = generator(i + 1);
  const common = Array.from({ length: 8 * (i % 6) }, (_, n) => 20 + (n * 7 + i % 3) % 300);
  const own = Array.from({ length: 1 + random(40) }, () => 3 + random(340));
  return {
    prompt: [...common, ...own],
    maxTokens: 1 + random(36),
    topLogprobs: i % 3 === 0 ? 5 : 0,
    sampling: i % 2 === 0 ? { temperature: 0 } : {
      temperature: 0.5 + random(100) / 100,
      topK: i % 3 === 0 ? 1 + random(60) : 0,
      topP: i % 5 === 0 ? 0.9 : 1,
      minP: i % 7 === 0 ? 0.05 : 0,
      repetitionPenalty: i % 4 === 1 ? 1.1 : 1,
      presencePenalty: i % 8 === 3 ? 0.5 : 0,
      logitBias: i % 9 === 0 ? new Map([[5, 1.5], [9, -2]]) : new Map(),
      seed: i,
    },
  };
}

async function* logitsOf(device: string): AsyncGenerator<string> {
  for (const name of MODELS) {
    const { tokens } = JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, GOLDEN)));
    for (const kvType of ["f32", "f16"] as const) {
      const path = new URL(`${name}.gguf`, GOLDEN).pathname;
      const engine = await Engine.load(path, { device, kvType, threads: 1, logitsOutputs: 7 });
      for await (const { position, logits } of engine.evaluate(tokens)) {
        const bytes = new Uint8Array(logits.slice().buffer);
        yield `${name} ${kvType} position ${position} ${digest(bytes)}`;
      }
      await engine.close();
    }
  }
}

async function answerOf(engine: Engine, i: number): Promise<string> {
  const sampled: number[] = [];
  const logprobs: number[] = [];
  for await (const { tokens } of engine.generate(requestOf(i))) {
    for (const { token, logprob = 0, top = [] } of tokens) {
      sampled.push(token);
      logprobs.push(logprob, ...top.map((one) => one.logprob));
    }
  }
  const bits = digest(new Uint8Array(Float32Array.from(logprobs).buffer));
  return `request ${i} ${bits} ${sampled.join(",")}`;
}

/** The answers of two models and all types of KV cache, served among others. */
async function* answersOf(device: string, count: number): AsyncGenerator<string> {
  const llama = new URL("llama.gguf", GOLDEN).pathname;
  const served = [[llama, "f16"], [llama, "f32"], [DEMO, "q8_0"], [DEMO, "f16"]] as const;
  for (const [n, [path, kvType]] of served.entries()) {
    const wanted = Array.from({ length: count }, (_, i) => i).filter((i) =>
      i % served.length === n
    );
    yield* await answer(path, device, kvType, wanted);
  }
}

async function answer(path: string, device: string, kvType: KvType, wanted: number[]) {
  const engine = await Engine.load(path, { device, kvType, threads: 1, parallel: 16 });
  const lines: string[] = [];
  const queue = wanted.values();
  const serve = async () => {
    for (const i of queue) lines[i] = `${kvType} ${await answerOf(engine, i)}`;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, serve));
  await engine.close();
  return lines.filter((line) => line !== undefined);
}

if (import.meta.main) {
  const { device, requests, _: [out] } = parseArgs(Deno.args, {
    string: ["device", "requests"],
    default: { device: "cpu", requests: "1000" },
  });
  if (out === undefined) {
    console.error("wanted the path of the file to write, after the options");
    Deno.exit(2);
  }
  const lines: string[] = [];
  for await (const line of logitsOf(device)) lines.push(line);
  for await (const line of answersOf(device, Number(requests))) lines.push(line);
  await Deno.writeTextFile(String(out), lines.join("\n") + "\n");
  console.log(`${lines.length} lines in ${out}`);
}
