// Engine.embed: vectors of texts.
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Engine, M40Error, readGguf } from "../../engine/mod.ts";
import {
  asking,
  collect,
  limitSteps,
  loadEngine,
  nextStep,
  POISON,
  promptOf,
  withEngine,
  withPoison,
} from "../fixtures/engine_fixture.ts";
import { u32 } from "../fixtures/changed_model.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

const MEAN = 1;

async function vectorsOf(engine: Engine, ...texts: number[][]): Promise<number[][]> {
  const { vectors } = await engine.embed(texts);
  return vectors.map((vector) => Array.from(vector));
}

/** The cosine of the angle between two vectors. */
function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>) =>
    Array.from(a).reduce((sum, value, i) => sum + value * b[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** The logits that a hidden state gives: the matrix of the output [vocabulary, hidden] times it. */
async function logitsOf(hidden: readonly number[]): Promise<number[]> {
  const { offset, shape: [columns, rows], type } = (await readGguf(GOLDEN)).tensors.get(
    "output.weight",
  )!;
  assertEquals([columns, type.name], [hidden.length, "F32"]);
  const bytes = (await Deno.readFile(GOLDEN)).slice(offset, offset + 4 * rows * columns);
  const weights = new Float32Array(bytes.buffer);
  return Array.from(
    { length: rows },
    (_, row) => hidden.reduce((sum, value, i) => sum + value * weights[row * columns + i], 0),
  );
}

/** The logits of all positions of a text. */
async function evaluate(engine: Engine, tokens: number[]): Promise<Float32Array[]> {
  const logits: Float32Array[] = [];
  for await (const position of engine.evaluate(tokens)) logits.push(position.logits);
  return logits;
}

/** Does work with a copy of the small model whose file says how it is pooled. */
async function withPooling<T>(type: number, work: (path: string) => Promise<T>): Promise<T> {
  using temporary = new TemporaryFile(".gguf");
  await (await Rewritten.of("llama")).set("%s.pooling_type", u32(type)).write(temporary.path);
  return await work(temporary.path);
}

Deno.test("a text's vector points where its last hidden state does, of which the logits are made", async () => {
  await using engine = await loadEngine();
  const tokens = promptOf(45);
  const [vector] = await vectorsOf(engine, tokens);
  assert(
    Math.abs(vector.reduce((sum, value) => sum + value * value, 0) - 1) < 1e-5,
    "its length is 1",
  );
  const wanted = (await evaluate(engine, tokens)).at(-1)!;
  assert(cosine(await logitsOf(vector), wanted) > 0.99999);
});

Deno.test("a file that wants the mean has the mean of all hidden states, whatever is in the cache", async () => {
  await withPooling(MEAN, async (path) => {
    await using engine = await loadEngine({ path, parallel: 2 });
    const tokens = promptOf(100);
    const all = await evaluate(engine, tokens);
    const mean = all[0].map((_, i) => all.reduce((sum, logits) => sum + logits[i], 0) / all.length);
    const [first] = await vectorsOf(engine, tokens);
    assert(cosine(await logitsOf(first), mean) > 0.99999);
    assert(cosine(await logitsOf(first), all.at(-1)!) < 0.999, "it is not the last one");
    assertEquals(await vectorsOf(engine, tokens), [first]);
    assertEquals(engine.status().cachedTokens, 0, "what is in the cache has no hidden states");
  });
});

Deno.test("texts of a request have the vectors that each has alone, many more than can run", async () => {
  await using engine = await loadEngine({ parallel: 3, maxQueue: 1 });
  const texts = Array.from({ length: 20 }, (_, i) => promptOf(1 + i * 3, i % 5));
  const together = await vectorsOf(engine, ...texts);
  for (const [i, text] of texts.entries()) {
    assertEquals(await vectorsOf(engine, text), [together[i]], `text ${i}`);
  }
  assert(engine.status().cachedTokens > 0, "the last one's hidden state needs no others");
});

Deno.test("vectors are the same concurrently with others and after preemption, and others get what they get alone", async () => {
  for (const pooling of [0, MEAN]) {
    await withPooling(pooling, async (path) => {
      const tokens = promptOf(100);
      const request = asking(promptOf(20, 1), 90);
      const [wanted, alone] = await withEngine({ path, parallel: 4 }, async (engine) => [
        await vectorsOf(engine, tokens),
        await collect(engine.generate(request)),
      ]);
      for (const hostCacheBytes of [undefined, 0]) {
        await using engine = await loadEngine({ path, parallel: 4, kvBlocks: 8, hostCacheBytes });
        limitSteps(engine, 10);
        const others = [1, 1, 1].map(() => collect(engine.generate(request)));
        assertEquals(await vectorsOf(engine, tokens), wanted);
        for (const other of others) assertEquals(await other, alone);
        assert(engine.status().preemptions > 0, "the KV cache was too small for all");
        await engine.idle();
        assertEquals(engine.status().usedKvBlocks, 0);
      }
    });
  }
});

Deno.test("fewer dimensions are the first ones, of length 1 again; more are all", async () => {
  await using engine = await loadEngine();
  const text = promptOf(9);
  const [[whole], [short], [all]] = await Promise.all(
    [undefined, 5, 10_000].map(async (dimensions) =>
      (await engine.embed([text], { dimensions })).vectors
    ),
  );
  assertEquals(short.length, 5);
  assert(cosine(short, whole.subarray(0, 5)) > 0.999999);
  assert(Math.abs(short.reduce((sum, value) => sum + value * value, 0) - 1) < 1e-5);
  assertEquals(all, whole);
});

Deno.test("a text is encoded as the model wants, and cut to the context or refused", async () => {
  await using engine = await loadEngine();
  const { tokenizer, contextTokens } = engine;
  const one = await engine.embed(["Hello <s> there"]);
  assertEquals(one, await engine.embed([tokenizer.encode("Hello <s> there")]));
  assertEquals(one.tokens, tokenizer.encode("Hello <s> there").length);
  const long = "a long text ".repeat(contextTokens);
  const cut = await engine.embed([long], { truncate: true });
  assertEquals(cut, await engine.embed([tokenizer.encode(long).slice(0, contextTokens)]));
  const error = await assertRejects(() => engine.embed(["short", long]), M40Error);
  assertEquals([error.code, error.param], ["context_length_exceeded", "input"]);
  for (const wrong of ["", [], [352]]) {
    await assertRejects(() => engine.embed(["a", wrong]), M40Error, "wanted");
  }
  assertEquals((await engine.embed([])).vectors, []);
});

Deno.test("a model that pools otherwise is refused by name", async () => {
  await withPooling(2, async (path) => {
    await using engine = await loadEngine({ path });
    const error = await assertRejects(() => engine.embed(["a"]), M40Error, "first token");
    assertEquals(error.code, "unsupported");
  });
});

Deno.test("a signal ends all texts of a request, and what is not finite ends it with its reason", async () => {
  await withPoison(async (path) => {
    await using engine = await loadEngine({ path, parallel: 2 });
    const texts = Array.from({ length: 8 }, (_, i) => promptOf(60, i));
    const error = await assertRejects(
      () => engine.embed([...texts, [5, POISON]]),
      M40Error,
      "token 2 of the text",
    );
    assertEquals(error.code, "not_finite");
    limitSteps(engine, 1);
    const ends = new AbortController();
    const work = assertRejects(() => engine.embed(texts, { signal: ends.signal }), M40Error);
    await nextStep(engine);
    ends.abort();
    assertEquals((await work).code, "cancelled");
    assertEquals(
      (await assertRejects(() => engine.embed(texts, { signal: ends.signal }), M40Error)).code,
      "cancelled",
    );
    await engine.idle();
    assertEquals(
      [engine.status().running, engine.status().waiting, engine.status().usedKvBlocks],
      [0, 0, 0],
    );
  });
});

Deno.test("where the queue is full at first a request is refused, and later it waits for its own", async () => {
  await using engine = await loadEngine({ parallel: 2, maxQueue: 1 });
  limitSteps(engine, 8);
  const others = [1, 2, 3].map((seed) => collect(engine.generate(asking(promptOf(4, seed), 100))));
  const full = await assertRejects(() => engine.embed([promptOf(3)]), M40Error);
  assertEquals(full.code, "queue_full");
  await Promise.all(others);
  const texts = Array.from({ length: 9 }, (_, i) => promptOf(30, i));
  const work = vectorsOf(engine, ...texts);
  const more = [4].map((seed) => collect(engine.generate(asking(promptOf(4, seed), 100))));
  assertEquals((await work).length, 9);
  await Promise.all(more);
});

Deno.test("vectors of no texts are there at once, unless they were wanted no more", async () => {
  await using engine = await loadEngine();
  assertEquals(await engine.embed([]), { vectors: [], tokens: 0 });
  const gone = engine.embed([], { signal: AbortSignal.abort() });
  assertEquals((await assertRejects(() => gone, M40Error)).code, "cancelled");
});
