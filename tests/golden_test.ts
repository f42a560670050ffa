import { assertEquals, assertLess } from "@std/assert";
import { Engine } from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";

interface Golden {
  tokens: number[];
  greedy: number[];
  logits: number[][];
}

const folder = new URL("data/golden/", import.meta.url);
const NAMES = ["llama", "llama3-tied-ropescaled", "mixtral-moe"];

/** How far logits may be from the golden ones, by what the KV cache holds. */
const KV_TYPES = { f32: 1e-5, f16: 2e-3 };
type KvType = keyof typeof KV_TYPES;

async function load(name: string, kvType: KvType): Promise<{ engine: Engine; golden: Golden }> {
  const golden = JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, folder)));
  const path = new URL(`${name}.gguf`, folder).pathname;
  const engine = await Engine.load(path, { device: BACKEND, kvType, logitsOutputs: 7 });
  return { engine, golden };
}

const CASES = NAMES.flatMap((name) =>
  Object.entries(KV_TYPES).map(([kvType, tolerance]) => ({
    name,
    kvType: kvType as KvType,
    tolerance,
  }))
);

for (const { name, kvType, tolerance } of CASES) {
  Deno.test(`${name}, KV cache of ${kvType}: the logits of every position are those of another implementation`, async () => {
    const { engine, golden } = await load(name, kvType);
    try {
      let difference = 0;
      let size = 0;
      let positions = 0;
      for await (const { position, logits } of engine.evaluate(golden.tokens)) {
        golden.logits[position].forEach((wanted, i) => {
          difference += (logits[i] - wanted) ** 2;
          size += wanted ** 2;
        });
        positions++;
      }
      assertEquals(positions, golden.tokens.length);
      assertLess(Math.sqrt(difference / size), tolerance);
    } finally {
      await engine.close();
    }
  });

  Deno.test(`${name}, KV cache of ${kvType}: the greedy continuation is that of another implementation`, async () => {
    const { engine, golden } = await load(name, kvType);
    try {
      const tokens: number[] = [];
      const generation = engine.generate({
        prompt: golden.tokens,
        maxTokens: golden.greedy.length,
        sampling: { temperature: 0 },
      });
      for await (const chunk of generation) tokens.push(...chunk.tokens.map(({ token }) => token));
      assertEquals(tokens, golden.greedy);
    } finally {
      await engine.close();
    }
  });
}
