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

async function load(name: string): Promise<{ engine: Engine; golden: Golden }> {
  const golden = JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, folder)));
  const path = new URL(`${name}.gguf`, folder).pathname;
  const engine = await Engine.load(path, { device: BACKEND, kvType: "f32", logitsOutputs: 7 });
  return { engine, golden };
}

for (const name of NAMES) {
  Deno.test(`${name}: the logits of every position are those of another implementation`, async () => {
    const { engine, golden } = await load(name);
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
      assertLess(Math.sqrt(difference / size), 1e-5);
    } finally {
      await engine.close();
    }
  });

  Deno.test(`${name}: the greedy continuation is that of another implementation`, async () => {
    const { engine, golden } = await load(name);
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
