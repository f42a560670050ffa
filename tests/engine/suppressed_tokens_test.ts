import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { arrayEntry } from "../../engine/gguf/entries.ts";
import { Engine, type GenerateRequest } from "../../engine/mod.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";
import { BACKEND, EXECUTOR } from "../fixtures/device_harness.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { BASIC, vocabularyMetadata } from "../fixtures/tokenizer_metadata.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// tokenizer.ggml.suppress_tokens: what a file says that must never be sampled.

const KEY = "tokenizer.ggml.suppress_tokens";

/** A golden that forbids tokens, loaded for some work. */
async function suppressing<T>(ids: readonly number[], work: (engine: Engine) => Promise<T>) {
  using temporary = new TemporaryFile(".gguf");
  const path = temporary.path;
  const file = await Rewritten.of("gemma4");
  if (ids.length > 0) file.set(KEY, arrayEntry("int32", ids));
  await file.write(path);
  await using engine = await Engine.load(path, {
    ...{ device: BACKEND, executor: EXECUTOR, contextTokens: 128, kvBlocks: 8, parallel: 2 },
  });
  return await work(engine);
}

const PROMPT = [2, 30, 31, 32];

async function sampled(engine: Engine, request: Partial<GenerateRequest> = {}): Promise<number[]> {
  const tokens: number[] = [];
  const generation = engine.generate({
    prompt: PROMPT,
    maxTokens: 40,
    ...request,
    sampling: { temperature: 0, ignoreEos: true, ...request.sampling },
  });
  for await (const chunk of generation) tokens.push(...chunk.tokens.map(({ token }) => token));
  return tokens;
}

/** What is sampled where nothing is forbidden: the tokens that are of interest. */
const FREE = await suppressing([], (engine) => sampled(engine));

Deno.test("a suppressed token is never sampled: likeliest, biased, one after the other or in runs", async () => {
  const [first] = FREE;
  await suppressing([first], async (engine) => {
    const greedy = await sampled(engine);
    assertEquals(greedy.length, 40);
    assertNotEquals(greedy, FREE);
    assert(!greedy.includes(first));
    const biased = { sampling: { logitBias: new Map([[first, 100]]) } };
    assertEquals(await sampled(engine, biased), greedy);
    assert(
      !(await sampled(engine, { sampling: { ignoreEos: false, minTokens: 30 } })).includes(first),
    );
    assertMatch(engine.model.notes.join(), /^Never sampled, as its file wants it: "/);
  });
  await suppressing([], (engine) => Promise.resolve(assertEquals(engine.model.notes, [])));
});

for (const count of [3, 64, 65, 200]) {
  Deno.test(`none of ${count} suppressed tokens is sampled at any temperature, nor under penalties`, async () => {
    const likely = [...new Set(FREE)].slice(0, count);
    const others = Array.from({ length: 352 }, (_, id) => id).filter((id) => !likely.includes(id));
    const ids = [...likely, ...others.slice(-count)].slice(0, count);
    await suppressing(ids, async (engine) => {
      const samplings = [
        { temperature: 0 },
        { temperature: 2, seed: 1 },
        { temperature: 1, seed: 2, frequencyPenalty: 1 },
        { temperature: 1, seed: 3, dryMultiplier: 1 },
        { temperature: 1, seed: 4, mirostat: 2 },
      ];
      for (const sampling of samplings) {
        const tokens = await sampled(engine, { sampling });
        assertEquals(tokens.length, 40);
        assertEquals(tokens.filter((token) => ids.includes(token)), []);
      }
    });
  });
}

Deno.test("a grammar allows no suppressed token: it is written in others, or what else it allows", async () => {
  const constraint = { kind: "regex", pattern: "[abc]{8}" } as const;
  const textsOf = async (engine: Engine) => {
    const texts: string[] = [];
    for (let seed = 0; seed < 5; seed++) {
      const sampling = { ignoreEos: false, temperature: 1, seed };
      const tokens = await sampled(engine, { constraint, sampling });
      texts.push(engine.tokenizer.decode(tokens, { continuing: true }));
    }
    return texts;
  };
  const { texts, withB } = await suppressing([], async (engine) => {
    const { vocabSize } = engine.tokenizer;
    const bytesOf = (id: number) => [...engine.tokenizer.tokenBytes(id)];
    const ids = Array.from({ length: vocabSize }, (_, id) => id);
    const withB = ids.filter((id) => bytesOf(id).includes("b".charCodeAt(0)));
    return { texts: await textsOf(engine), withB };
  });
  for (const text of texts) assertMatch(text, /^[abc]{8}$/);
  assertMatch(texts.join(), /b/);
  assert(withB.length > 1);
  await suppressing(withB, async (engine) => {
    for (const text of await textsOf(engine)) assertMatch(text, /^[ac]{8}$/);
  });
});

Deno.test("suppressed tokens of a vocabulary: each once, none that ends an answer, none beyond it", () => {
  const load = (ids: readonly number[]) => {
    const warnings: string[] = [];
    const metadata = vocabularyMetadata([...BASIC, "a"], { [KEY]: arrayEntry("int32", ids) });
    const onWarning = (warning: string) => warnings.push(warning);
    return { tokenizer: loadTokenizer(metadata, { onWarning }), warnings };
  };
  const plain = loadTokenizer(vocabularyMetadata([...BASIC, "a"]));
  assertEquals([...plain.suppressed!], []);
  const [end] = plain.endTokens;
  const { tokenizer, warnings } = load([5, 5, end, -1, 99999]);
  assertEquals([...tokenizer.suppressed!], [5, end]);
  assert(!tokenizer.endTokens.has(end));
  assertMatch(warnings.join("|"), /^tokenizer\.ggml\.suppress_tokens names 99999, which is not/);
});
