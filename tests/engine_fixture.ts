/**
 * An engine on a small model, for tests of what it is asked and what fails in it.
 *
 * @module
 */
import {
  Engine,
  type EngineOptions,
  type GenerateRequest,
  type Generation,
  readGguf,
} from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";

/** A llama of four layers with a vocabulary of 352 tokens. */
export const GOLDEN = new URL("data/golden/llama.gguf", import.meta.url).pathname;

/** What came of a request. */
export interface Answer {
  readonly tokens: number[];
  /** Where log-probabilities were asked for. */
  readonly logprobs: number[];
  readonly finishReason?: string;
  readonly error?: unknown;
}

/** Takes in all of a generation, its error too. */
export async function collect(generation: Generation): Promise<Answer> {
  const tokens: number[] = [];
  const logprobs: number[] = [];
  let finishReason: string | undefined;
  try {
    for await (const chunk of generation) {
      for (const { token, logprob } of chunk.tokens) {
        tokens.push(token);
        if (logprob !== undefined) logprobs.push(logprob);
      }
      finishReason ??= chunk.finishReason;
    }
  } catch (error) {
    return { tokens, logprobs, finishReason, error };
  }
  return { tokens, logprobs, finishReason };
}

/** Runs `work` with an engine on {@link BACKEND}, and closes it. */
export async function withEngine<T>(
  options: EngineOptions & { path?: string },
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const { path = GOLDEN, ...rest } = options;
  const engine = await Engine.load(path, { device: BACKEND, threads: 1, ...rest });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** The device of an engine that is on one alone. */
export function cardOf(engine: Engine) {
  return engine["copies"]["there"][0].placed.cards[0];
}

/** That many tokens, others for another seed. */
export function promptOf(length: number, seed = 0): number[] {
  return Array.from({ length }, (_, i) => 10 + (i * 7 + seed * 31) % 280);
}

/** A greedy request that no end token cuts short. */
export function asking(prompt: readonly number[], maxTokens: number): GenerateRequest {
  return { prompt, maxTokens, sampling: { temperature: 0, logitBias: NO_END }, topLogprobs: 0 };
}

/** The token that {@link withPoison} spoils. */
export const POISON = 300;
/** Keeps the small model from ending by itself, and from drawing what is poison. */
const NO_END = new Map([[2, -100], [POISON, -100]]);

/** A copy of the small model in which the embedding of {@link POISON} is infinite. */
export async function withPoison<T>(work: (path: string) => Promise<T>): Promise<T> {
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  try {
    const { offset, shape } = (await readGguf(GOLDEN)).tensors.get("token_embd.weight")!;
    const bytes = await Deno.readFile(GOLDEN);
    const row = new Float32Array(shape[0]).fill(Infinity);
    bytes.set(new Uint8Array(row.buffer), offset + POISON * row.byteLength);
    await Deno.writeFile(path, bytes);
    return await work(path);
  } finally {
    await Deno.remove(path);
  }
}

/** Has steps take fewer tokens, so that a prompt takes several of them. */
export function limitSteps(engine: Engine, stepTokens: number): void {
  (engine["copies"]["there"][0].scheduler as unknown as { options: { stepTokens: number } }).options
    .stepTokens = stepTokens;
}

/** Resolves after so many milliseconds: whoever only waits for promises lets it. */
export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Resolves when the first token of somebody was drawn; more of them are being drawn then. */
export function firstToken(engine: Engine): Promise<void> {
  return new Promise((resolve) => {
    engine.observer = { firstToken: () => resolve() };
  });
}

/** Waits until something holds; fails where it does not in a minute. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let i = 0; !holds(); i++) {
    if (i > 12_000) throw new Error(`${what}: not in a minute`);
    await sleep(5);
  }
}
