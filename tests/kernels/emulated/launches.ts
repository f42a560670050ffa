import { assert, assertEquals } from "@std/assert";
import { Engine } from "../../../engine/mod.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { emulationCounts } from "../../fixtures/emulation_counts.ts";
import { golden } from "../../fixtures/goldens.ts";

// How many kernels a step launches: each costs some microseconds, whatever it does. Run by slow/emulated_test.ts: only the
// emulated device counts them.

/** Launches of a step that decodes one token with a golden model, and its sample with log-probabilities. */
async function tokensOf(name: string): Promise<{ launches: number; sampled: unknown[] }> {
  await using engine = await Engine.load(golden(name), { device: "emulated" });
  const launchesOf = async (tokens: number) => {
    const before = emulationCounts().launches;
    const sampling = { temperature: 0 };
    const sampled: unknown[] = [];
    for await (
      const chunk of engine.generate({ prompt: [3, 4, 5], maxTokens: tokens, sampling })
    ) {
      sampled.push(...chunk.tokens);
    }
    assertEquals(sampled.length, tokens);
    return { launches: emulationCounts().launches - before, sampled };
  };
  const [few, more] = [await launchesOf(2), await launchesOf(7)];
  return { launches: (more.launches - few.launches) / 5, sampled: more.sampled };
}

const launchesOfToken = async (name: string) => (await tokensOf(name)).launches;

/**
 * The launches of a token outside its layers: embedding, the rows of the outputs, the last norm and logits, sampling.
 */
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

Deno.test("where a card has few multiprocessors, norms and activations have launches of their own, to the same bits", async () => {
  const on = async (multiprocessors: number) => {
    let found: Awaited<ReturnType<typeof tokensOf>> | undefined;
    const environment = { M40_EMULATION_MULTIPROCESSORS: String(multiprocessors) };
    await withEnvironment(environment, async () => void (found = await tokensOf("llama")));
    return found!;
  };
  const [few, many] = [await on(1), await on(132)];
  // Of a product with more thread blocks than one multiprocessor runs at a time, if nothing else's.
  assert(few.launches > many.launches, `${few.launches} launches, ${many.launches} with 132`);
  assertEquals(few.sampled, many.sampled);
});
