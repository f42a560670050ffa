import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { Engine } from "../../engine/mod.ts";

/** What a NumPy forward pass in float64 computes from the file's own weights (tools/demo_model/). */
interface Reference {
  prompt: string;
  tokens: number[];
  logits: number[][];
  greedy: number[];
  /** How far the likeliest token's logit is above the next. */
  greedy_margins: number[];
}

const reference: Reference = JSON.parse(
  await Deno.readTextFile(new URL("../data/demo_logits.json", import.meta.url)),
);
const MODEL = new URL("../../tools/demo_model/demo.gguf", import.meta.url).pathname;

function loadDemo(options: { kvType?: "f16" | "f32" } = {}): Promise<Engine> {
  return Engine.load(MODEL, { device: "cpu", logitsOutputs: 8, ...options });
}

async function tell(engine: Engine, seed?: number): Promise<{ text: string; tokens: number[] }> {
  const tokens: number[] = [];
  let text = "";
  const sampling = { temperature: seed === undefined ? 0 : 0.8, seed };
  for await (const chunk of engine.generate({ prompt: reference.prompt, sampling })) {
    text += chunk.text;
    tokens.push(...chunk.tokens.map(({ token }) => token));
  }
  return { text, tokens };
}

Deno.test("the demo model's prompt has the tokens it was trained with, and its float64 logits", async () => {
  await using engine = await loadDemo({ kvType: "f32" });
  assertEquals(engine.tokenizer.encode(reference.prompt), reference.tokens);
  let difference = 0;
  let size = 0;
  for await (const { position, logits } of engine.evaluate(reference.tokens)) {
    reference.logits[position].forEach((wanted, i) => {
      difference += (logits[i] - wanted) ** 2;
      size += wanted ** 2;
    });
  }
  assertLess(Math.sqrt(difference / size), 1e-5);
});

Deno.test("the demo model's greedy story is the reference's, within single precision", async () => {
  await using engine = await loadDemo({ kvType: "f32" });
  const { tokens } = await tell(engine);
  const unsure = reference.greedy_margins.findIndex((margin) => margin < 1e-3);
  const sure = unsure < 0 ? reference.greedy.length : unsure;
  assertGreater(sure, 150);
  assertEquals(tokens.slice(0, sure), reference.greedy.slice(0, sure));
});

Deno.test("a story is longer than 150 tokens, comes to its end, and keeps its hero's name", async () => {
  await using engine = await loadDemo();
  const stories = [undefined, 1, 2, 3].map((seed) => tell(engine, seed));
  for (const { text, tokens } of await Promise.all(stories)) {
    assertGreater(tokens.length, 150);
    assertLess(tokens.length, engine.contextTokens - reference.tokens.length);
    // The hero is the most frequent name, from the first sentences to the last.
    const names = [...text.matchAll(/(?<=[a-z,] )[A-Z][a-z]+/g)].map(([name]) => name);
    const counts = new Map<string, number>();
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
    const [hero] = [...counts].sort((a, b) => b[1] - a[1])[0];
    assert(text.slice(0, text.length / 3).includes(hero), text);
    assert(text.slice(-text.length / 3).includes(hero), text);
  }
});
