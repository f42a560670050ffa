import { assertEquals, assertLess } from "@std/assert";
import { Engine } from "../../engine/mod.ts";
import { BACKEND, EXECUTOR } from "../fixtures/device_harness.ts";
import { golden, GOLDEN_NAMES, GOLDENS } from "../fixtures/goldens.ts";

// Models of random weights, and what another implementation computes for them in float64.

interface Golden {
  tokens: number[];
  greedy: number[];
  logits: number[][];
}

/** How far logits may be from the golden ones, by what the KV cache holds. */
const KV_TYPES = { f32: 1e-5, f16: 2e-3 } as const;

/** "one": each model with one type of cache alone, in turn, where both take too long; "other": with the other one. */
const CACHES = Deno.env.get("M40_GOLDEN_CACHES");

for (const [i, name] of GOLDEN_NAMES.entries()) {
  for (const [j, [type, tolerance]] of Object.entries(KV_TYPES).entries()) {
    const kvType = type as keyof typeof KV_TYPES;
    if (CACHES !== undefined && (i + j) % 2 !== (CACHES === "one" ? 0 : 1)) continue;
    Deno.test(`${name}, KV cache of ${kvType}: every position's logits and the greedy continuation are those of another implementation`, async () => {
      const wanted: Golden = JSON.parse(
        await Deno.readTextFile(new URL(`${name}.json`, GOLDENS)),
      );
      const path = golden(name);
      await using engine = await Engine.load(path, {
        ...{ device: BACKEND, executor: EXECUTOR },
        // All of a device's memory, which a plan would take otherwise, is seldom free during other tests.
        ...{ kvType, logitsOutputs: 7, contextTokens: 128, kvBlocks: 8 },
      });
      assertLess(await logitsError(engine, wanted), tolerance);
      assertEquals(await greedy(engine, wanted), wanted.greedy);
    });
  }
}

/** The relative error of all logits. */
async function logitsError(engine: Engine, { tokens, logits: wanted }: Golden): Promise<number> {
  let difference = 0;
  let size = 0;
  let positions = 0;
  for await (const { position, logits } of engine.evaluate(tokens)) {
    wanted[position].forEach((value, i) => {
      difference += (logits[i] - value) ** 2;
      size += value ** 2;
    });
    positions++;
  }
  assertEquals(positions, tokens.length);
  return Math.sqrt(difference / size);
}

async function greedy(engine: Engine, { tokens, greedy }: Golden): Promise<number[]> {
  const generation = engine.generate({
    prompt: tokens,
    maxTokens: greedy.length,
    sampling: { temperature: 0 },
  });
  const sampled: number[] = [];
  for await (const chunk of generation) sampled.push(...chunk.tokens.map(({ token }) => token));
  return sampled;
}
