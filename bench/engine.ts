/**
 * The engine on the CPU library with a model of Llama-3.2-1B's shape in Q8_0. It measures prefill and decode speed, and
 * the share of the machine's memory bandwidth that decode reaches. It also measures the process's memory beyond
 * weights, KV cache and activations. `deno run -A bench/engine.ts [MODEL.gguf]`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { Engine } from "../engine/mod.ts";
import { SHAPES } from "../tools/make_model/shapes.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import { memoryBandwidth } from "./memory_bandwidth.ts";

const REPETITIONS = 5;
const PROMPT_TOKENS = 256;
const DECODE_TOKENS = 48;

/** The model of the benchmark, made where it is not there yet. */
async function benchModel(): Promise<string> {
  const folder = fromFileUrl(new URL("../dist/bench/", import.meta.url));
  const path = folder + "llama-3.2-1b-q8_0.gguf";
  try {
    await Deno.stat(path);
  } catch {
    await Deno.mkdir(folder, { recursive: true });
    await writeGguf(path, randomModel(SHAPES["llama-3.2-1b"], "Q8_0", 1));
  }
  return path;
}

/** Milliseconds until the first token and for the others. */
async function time(engine: Engine, promptTokens: number, maxTokens: number) {
  const prompt = Array.from({ length: promptTokens }, (_, i) => 300 + i % 1000);
  const sampling = {
    temperature: 0,
    logitBias: new Map([...engine.tokenizer.endTokens].map((token) => [token, -100])),
  };
  const start = performance.now();
  let first = 0;
  let last = 0;
  for await (const chunk of engine.generate({ prompt, maxTokens, sampling })) {
    if (chunk.tokens.length === 0) continue;
    last = performance.now() - start;
    first ||= last;
  }
  return { first, rest: last - first };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

/** Bytes of the process that are in memory. */
async function residentBytes(): Promise<number> {
  const status = await Deno.readTextFile("/proc/self/status");
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024;
}

if (import.meta.main) {
  const path = Deno.args[0] ?? await benchModel();
  const start = performance.now();
  const engine = await Engine.load(path, { device: "cpu", contextTokens: 1024 });
  const loadMs = performance.now() - start;
  const { device, plan, model } = engine;
  await time(engine, 16, 8);
  const prefill: number[] = [];
  const decode: number[] = [];
  for (let i = 0; i < REPETITIONS; i++) {
    prefill.push((await time(engine, PROMPT_TOKENS, 1)).first);
    decode.push((await time(engine, 1, DECODE_TOKENS)).rest);
  }
  const resident = await residentBytes();
  await engine.close();
  const bandwidth = await memoryBandwidth();
  const tokensPerSecond = (DECODE_TOKENS - 1) / median(decode) * 1000;
  const bytesPerSecond = tokensPerSecond * plan.weightBytes;
  const mb = (bytes: number) => (bytes / 1e6).toFixed(0);
  console.log(
    `${model.name} on ${device.name}, ${device.multiprocessors} cores, ${device.instructionSet}
load                ${(loadMs / 1000).toFixed(2)} s for ${mb(plan.weightBytes)} MB of weights
prefill             ${
      (PROMPT_TOKENS / median(prefill) * 1000).toFixed(1)
    } tokens/s (${PROMPT_TOKENS} tokens)
decode              ${tokensPerSecond.toFixed(2)} tokens/s, ${
      (bytesPerSecond / 1e9).toFixed(1)
    } GB/s of weights
memory bandwidth    ${(bandwidth / 1e9).toFixed(1)} GB/s (copy, read and written); decode reaches ${
      (100 * bytesPerSecond / bandwidth).toFixed(0)
    }%
resident memory     ${mb(resident)} MB; weights, KV cache and activations ${
      mb(plan.totalBytes)
    } MB; beyond them ${mb(resident - plan.totalBytes)} MB`,
  );
}
