import { assertEquals } from "@std/assert";
import { Engine } from "../engine/mod.ts";

// How many kernels a step launches: each costs some microseconds, whatever it does. Run by slow/emulated_test.ts: only the
// emulated device counts them.

function countLaunches(): number {
  const library = Deno.dlopen(Deno.env.get("M40_KERNELS")!, {
    m40_emulation_launches: { parameters: [], result: "u64" },
  });
  const launches = Number(library.symbols.m40_emulation_launches());
  library.close();
  return launches;
}

/** Launches of a step that decodes one token with a golden model. */
async function launchesOfToken(name: string): Promise<number> {
  const path = new URL(`data/golden/${name}.gguf`, import.meta.url).pathname;
  const engine = await Engine.load(path, { device: "emulated" });
  try {
    const launchesOf = async (tokens: number) => {
      const before = countLaunches();
      const sampling = { temperature: 0 };
      let drawn = 0;
      for await (
        const chunk of engine.generate({ prompt: [3, 4, 5], maxTokens: tokens, sampling })
      ) {
        drawn += chunk.tokens.length;
      }
      assertEquals(drawn, tokens);
      return countLaunches() - before;
    };
    const [few, more] = [await launchesOf(2), await launchesOf(7)];
    return (more - few) / 5;
  } finally {
    await engine.close();
  }
}

/** What a token takes beside its layers: embedding, the rows that are wanted, the last norm and logits, the draw. */
const BESIDE_LAYERS = 4;
/** Multi-head latent attention: see docs/kernels/matmul.md. */
const LATENT_ATTENTION = 8;

Deno.test("a token of a model with latent attention and a shared expert: as many launches a layer as docs/kernels/matmul.md says", async () => {
  const dense = LATENT_ATTENTION + 2;
  const experts = LATENT_ATTENTION + 4;
  assertEquals(await launchesOfToken("deepseek2"), BESIDE_LAYERS + dense + 2 * experts);
});

/** See docs/kernels/state.md. */
const DELTA_NET = 6;
const MAMBA2 = 5;
/** Product with the norm, queries and their gates taken apart, rotation, attention, gate, output product. */
const GATED_ATTENTION = 7;
const FEED_FORWARD = 2;

Deno.test("a token of a model with states: as many launches a layer as docs/kernels/state.md says", async () => {
  assertEquals(await launchesOfToken("mamba2"), BESIDE_LAYERS + 3 * MAMBA2);
  const layers = 3 * DELTA_NET + GATED_ATTENTION + 4 * FEED_FORWARD;
  assertEquals(await launchesOfToken("qwen35"), BESIDE_LAYERS + layers);
});
