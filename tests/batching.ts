/**
 * Requests that are served many at a time, and what each gets alone.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  Engine,
  type EngineOptions,
  type EngineStatus,
  type GenerateRequest,
} from "../engine/mod.ts";
import { BACKEND, EXECUTOR } from "./device_harness.ts";

/** Numbers that are the same in every run (Numerical Recipes' LCG). */
export function generator(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

/** The i-th of many different requests, of tokens that every golden model's vocabulary has; some begin alike. */
export function request(i: number, maxTokens: number): GenerateRequest {
  const random = generator(i + 1);
  const common = Array.from({ length: 8 * (i % 5) }, (_, n) => 20 + (n * 7 + i % 3) % 100);
  const own = Array.from({ length: 1 + random(24) }, () => 3 + random(120));
  const sampled = i % 2 === 1;
  return {
    prompt: [...common, ...own],
    maxTokens: 1 + random(maxTokens),
    sampling: sampled
      ? { temperature: 0.9, topK: 50, topP: 0.95, seed: i, repetitionPenalty: 1.1 }
      : { temperature: 0 },
    topLogprobs: i % 7 === 0 ? 3 : undefined,
  };
}

export async function tokensOf(engine: Engine, asked: GenerateRequest): Promise<number[]> {
  const tokens: number[] = [];
  let finished = false;
  for await (const chunk of engine.generate(asked)) {
    tokens.push(...chunk.tokens.map(({ token }) => token));
    finished ||= chunk.finishReason !== undefined;
  }
  assert(finished, "the generation ended before it was complete");
  return tokens;
}

/** Runs something with an engine of a golden model, on one thread. */
export async function withModel<T>(
  golden: string,
  options: EngineOptions,
  work: (engine: Engine) => Promise<T>,
): Promise<T> {
  const path = new URL(`data/golden/${golden}.gguf`, import.meta.url).pathname;
  const engine = await Engine.load(path, {
    ...{ device: BACKEND, executor: EXECUTOR, threads: 1 },
    ...options,
  });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
}

/** Tokens of an answer in tests of many requests; fewer: M40_BATCHED_TOKENS. */
export const BATCHED_TOKENS = Number(Deno.env.get("M40_BATCHED_TOKENS") ?? 60);

/** What each of the first requests gets when it is served alone. */
export async function answersAlone(
  golden: string,
  count: number,
  maxTokens: number,
): Promise<number[][]> {
  return await withModel(golden, { parallel: 1 }, async (engine) => {
    const answers: number[][] = [];
    for (let i = 0; i < count; i++) answers.push(await tokensOf(engine, request(i, maxTokens)));
    return answers;
  });
}

/**
 * Serves requests whose clients leave at random, thirty at a time, on an engine with far too few KV pages; fails where
 * one gets another token than it would alone, or something is still held at the end.
 */
export async function stress(
  golden: string,
  requests: number,
  options: EngineOptions,
): Promise<EngineStatus> {
  const kinds = 40;
  const alone = await answersAlone(golden, kinds, 40);
  return await withModel(golden, { parallel: 12, maxQueue: 200, ...options }, async (engine) => {
    const random = generator(99);
    let next = 0;
    let aborted = 0;
    const client = async () => {
      while (next < requests) {
        const i = next++ % kinds;
        const cut = random(4) === 0 ? 1 + random(12) : Infinity;
        const got: number[] = [];
        const controller = new AbortController();
        const before = random(10) === 0;
        const generation = engine.generate({ ...request(i, 40), signal: controller.signal });
        if (before) controller.abort();
        for await (const { tokens } of generation) {
          got.push(...tokens.map(({ token }) => token));
          if (got.length >= cut) {
            if (random(2) === 0) break;
            controller.abort();
          }
        }
        if (before || cut !== Infinity) {
          aborted++;
          assertEquals(got, alone[i].slice(0, got.length));
        } else assertEquals(got, alone[i]);
      }
    };
    await Promise.all(Array.from({ length: 30 }, client));
    await engine.idle();
    const status = engine.status();
    const { usedPages, usedSlots, preemptions, cachedTokens, running, waiting } = status;
    const nothing = { usedPages: 0, usedSlots: 0, running: 0, waiting: 0 };
    assertEquals({ usedPages, usedSlots, running, waiting }, nothing);
    console.log(JSON.stringify({ aborted, preemptions, cachedTokens }));
    assert(preemptions > 0 && cachedTokens > 0 && aborted > 0);
    return status;
  });
}
