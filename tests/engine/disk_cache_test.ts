import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { STATE_GROUP } from "../../engine/scheduler/disk/cache/kv_block_name.ts";
import { parseOverride } from "../../engine/gguf/override.ts";
import { type Engine, type EngineOptions, readGguf } from "../../engine/mod.ts";
import { type Answer, asking, collect, promptOf, withEngine } from "../fixtures/engine_fixture.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";
import { writeWindowedModel } from "../fixtures/windowed_model.ts";

// Prompts that outlive the engine: their KV blocks come back from disk bit for bit, or are recomputed.

const KV_BLOCK = 32;
const CONTEXT = 2560;
const FOLDER = await Deno.makeTempDir();
globalThis.addEventListener("unload", () => Deno.removeSync(FOLDER, { recursive: true }));

const models = new Map<string, Promise<string>>();

/** A golden model with a long context. */
function modelOf(name: string): Promise<string> {
  let path = models.get(name);
  if (!path) models.set(name, path = writeWindowedModel(FOLDER, name, CONTEXT));
  return path;
}

/** A folder for a disk cache, and what it had to say. */
class Disk {
  readonly folder = Deno.makeTempDirSync({ dir: FOLDER });
  readonly problems: string[] = [];

  engine<T>(
    path: string,
    work: (engine: Engine) => Promise<T>,
    options: EngineOptions = {},
  ): Promise<T> {
    const { folder, problems } = this;
    const onProblem = (problem: string) => problems.push(problem);
    const diskCache = { folder, bytes: 2 ** 30, onProblem };
    return withEngine({ ...OPTIONS, ...options, path, diskCache }, work);
  }

  /** The KV blocks' files. */
  files(): string[] {
    return [...Deno.readDirSync(this.folder)].flatMap(({ name }) =>
      [...Deno.readDirSync(join(this.folder, name))].map((file) =>
        join(this.folder, name, file.name)
      )
    ).filter((path) => path.endsWith(".kv"));
  }
}

const OPTIONS: EngineOptions = { contextTokens: CONTEXT, parallel: 2 };

async function answerTo(engine: Engine, prompt: readonly number[], maxTokens = 8): Promise<Answer> {
  const answer = await collect(engine.generate(asking(prompt, maxTokens)));
  assertEquals(answer.error, undefined);
  return answer;
}

/** What a prompt is answered without a disk cache. */
function aloneOn(path: string, prompt: readonly number[]): Promise<Answer> {
  return withEngine({ ...OPTIONS, path }, (engine) => answerTo(engine, prompt));
}

const MODELS = [
  ["llama", 2500],
  ["gemma3", 1200],
  ["deepseek2", 1500],
  ["qwen35", 1500],
  ["granitehybrid", 1000],
] as const;

for (const [name, tokens] of MODELS) {
  Deno.test(`${name}: a prompt of ${tokens} tokens is found after a restart, and its answer has the bits of one that was computed`, async () => {
    const path = await modelOf(name);
    const prompt = promptOf(tokens);
    const found = Math.floor((tokens - 1) / KV_BLOCK);
    const alone = await aloneOn(path, prompt);
    const disk = new Disk();
    await disk.engine(path, async (engine) => {
      assertEquals(await answerTo(engine, prompt), alone);
    });
    await disk.engine(path, async (engine) => {
      const before = engine.status();
      assertEquals(await answerTo(engine, prompt), alone);
      const { cachedTokens, promptTokens, disk } = engine.status();
      assertEquals(cachedTokens - before.cachedTokens, found * KV_BLOCK);
      assertEquals(promptTokens - before.promptTokens, tokens - found * KV_BLOCK);
      const groups = engine.plan.groups.length;
      assertEquals(
        disk!.readKvBlocks < found * groups,
        groups > 1,
        "more was read than is seen",
      );
    });
    assertEquals(disk.problems, []);
  });
}

for (const name of ["gemma3", "qwen35"]) {
  Deno.test(`${name}: what was answered is found as well, and goes on with the bits that it had`, async () => {
    const path = await modelOf(name);
    const disk = new Disk();
    const prompt = promptOf(600);
    const next = (answer: Answer) => [...prompt, ...answer.tokens, ...promptOf(40, 3)];
    const [first, second] = await disk.engine(path, async (engine) => {
      const first = await answerTo(engine, prompt, 200);
      return [first, await answerTo(engine, next(first))];
    });
    await disk.engine(path, async (engine) => {
      assertEquals(await answerTo(engine, next(first)), second);
      const { cachedTokens } = engine.status();
      assertEquals(cachedTokens, Math.floor((next(first).length - 1) / KV_BLOCK) * KV_BLOCK);
    });
  });
}

Deno.test("a state that is damaged or gone is noticed, and a prompt goes on from the one before it", async () => {
  const path = await modelOf("qwen35");
  const prompt = promptOf(1000);
  const alone = await aloneOn(path, prompt);
  const disk = new Disk();
  const states = () => disk.files().filter((file) => file.endsWith(`-${STATE_GROUP}.kv`));
  const cachedBy = (prompt: readonly number[], expected?: Answer) =>
    disk.engine(path, async (engine) => {
      const answer = await answerTo(engine, prompt);
      if (expected) assertEquals(answer, expected);
      return engine.status().cachedTokens;
    });
  assertEquals(await cachedBy(prompt.slice(0, 500)), 0);
  const [first] = states();
  for (
    const spoil of [
      async (path: string) => {
        const own = await Deno.readFile(path);
        own[own.length - 5] ^= 1;
        await Deno.writeFile(path, own);
      },
      (path: string) => Deno.remove(path),
    ]
  ) {
    await cachedBy(prompt, alone);
    const last = states().filter((state) => state !== first);
    assertEquals(last.length, 1);
    assertEquals(await cachedBy(prompt, alone), 992);
    await spoil(last[0]);
    assertEquals(await cachedBy(prompt, alone), 480);
  }
  assertEquals(disk.problems, []);
});

Deno.test("files that are damaged, cut short, swapped or of other models are noticed and recomputed", async () => {
  const path = await modelOf("llama");
  const prompt = promptOf(1000);
  const alone = await aloneOn(path, prompt);
  const disk = new Disk();
  await disk.engine(path, (engine) => answerTo(engine, prompt));
  const all = disk.files().sort();
  assertEquals(all.length, 31);
  const bytes = await Deno.readFile(all[0]);
  const damage: readonly ((path: string, i: number) => Promise<void>)[] = [
    async (path, i) => {
      const own = await Deno.readFile(path);
      own[(i * 7919) % own.length] ^= 1 << i % 8;
      await Deno.writeFile(path, own);
    },
    (path, i) => Deno.truncate(path, (i * 997) % bytes.length),
    // Of another prefix, as it was written.
    (path, i) => Deno.copyFile(all[(i + 1) % all.length], path),
    (path) => Deno.writeFile(path, new Uint8Array(bytes.length)),
    (path) => Deno.remove(path),
  ];
  for (const [kind, spoil] of damage.entries()) {
    for (const i of [kind, all.length - 1 - kind]) {
      await spoil(all[i], i + 1);
      await disk.engine(path, async (engine) => {
        assertEquals(await answerTo(engine, prompt), alone, `damage ${kind} of file ${i}`);
        const { cachedTokens, disk } = engine.status();
        assertEquals(cachedTokens < 992, true, `damage ${kind} of file ${i} was not noticed`);
        assertEquals(disk!.damagedKvBlocks, kind < 4 ? 1 : 0);
      });
      // Computed blocks are stored again.
      await disk.engine(path, async (engine) => {
        assertEquals(await answerTo(engine, prompt), alone);
        assertEquals(engine.status().cachedTokens, 992);
      });
    }
  }
  assertEquals(disk.problems, []);
});

Deno.test("KV blocks of another model or another type of KV cache or arithmetic are never found", async () => {
  const disk = new Disk();
  const prompt = promptOf(600);
  const [llama, windowed] = [await modelOf("llama"), await modelOf("gemma3")];
  // The same shapes and header, and other weights at the end of one tensor.
  const other = join(FOLDER, "other.gguf");
  const bytes = await Deno.readFile(llama);
  const { offset, bytes: length } = (await readGguf(llama)).tensors.get("blk.1.attn_k.weight")!;
  bytes[offset + length - 3] ^= 1;
  await Deno.writeFile(other, bytes);
  const quantised = join(FOLDER, "quantised.gguf");
  await writeQuantised(llama, quantised);
  await disk.engine(llama, (engine) => answerTo(engine, prompt));
  const cases: [string, EngineOptions][] = [
    [other, {}],
    [windowed, {}],
    [llama, { kvType: "f32" }],
    [quantised, {}],
    [quantised, { arithmetic: "packed" }],
  ];
  for (const [path, options] of cases) {
    const alone = await withEngine({ ...OPTIONS, ...options, path }, (engine) => {
      return answerTo(engine, prompt);
    });
    await disk.engine(path, async (engine) => {
      assertEquals(await answerTo(engine, prompt), alone, path);
      assertEquals(engine.status().cachedTokens, 0, `${path} ${JSON.stringify(options)}`);
    }, options);
  }
  // All of them are stored now, and packed arithmetic changes nothing where weights are F32.
  for (
    const [path, options] of [[llama, {}], [llama, { arithmetic: "packed" }], ...cases] as const
  ) {
    await disk.engine(path, async (engine) => {
      await answerTo(engine, prompt);
      assertEquals(engine.status().cachedTokens > 500, true, `${path} ${JSON.stringify(options)}`);
    }, options);
  }
  assertEquals(disk.problems, []);
});

Deno.test("KV blocks of a model whose metadata is overridden are its own", async () => {
  const path = await modelOf("llama");
  const prompt = promptOf(600);
  const disk = new Disk();
  const answered = (...texts: string[]) =>
    disk.engine(path, async (engine) => {
      const answer = await answerTo(engine, prompt);
      return { answer, cached: engine.status().cachedTokens };
    }, { overrides: texts.map((text) => parseOverride(text)!) });
  const plain = await answered();
  const other = await answered("llama.rope.freq_base=500");
  assertEquals([plain.cached, other.cached], [0, 0]);
  const alone = (...texts: string[]) =>
    withEngine(
      { ...OPTIONS, path, overrides: texts.map((text) => parseOverride(text)!) },
      (engine) => answerTo(engine, prompt),
    );
  assertEquals(other.answer, await alone("llama.rope.freq_base=500"));
  const again = await answered("llama.rope.freq_base=500");
  assertEquals(again.answer, other.answer);
  assertEquals(again.cached > 500, true);
  // What nothing is computed with makes KV blocks of their own as well.
  assertEquals((await answered("llama.novelty=int:1")).cached, 0);
  assertEquals((await answered()).cached, again.cached);
});

Deno.test("a copied model is recognised", async () => {
  const disk = new Disk();
  const path = await modelOf("llama");
  const copy = join(FOLDER, "copy.gguf");
  await Deno.copyFile(path, copy);
  await disk.engine(path, (engine) => answerTo(engine, promptOf(600)));
  await disk.engine(copy, async (engine) => {
    await answerTo(engine, promptOf(600));
    assertEquals(engine.status().cachedTokens, 576);
  });
});

Deno.test("two engines that use one folder at the same time answer as each alone, and find what both wrote", async () => {
  const path = await modelOf("llama");
  const disk = new Disk();
  const prompts = Array.from({ length: 8 }, (_, i) => [...promptOf(320, 9), ...promptOf(300, i)]);
  const alone: Answer[] = [];
  for (const prompt of prompts) alone.push(await aloneOn(path, prompt));
  const ask = () =>
    disk.engine(path, async (engine) => {
      assertEquals(await Promise.all(prompts.map((prompt) => answerTo(engine, prompt))), alone);
      return engine.status();
    });
  await Promise.all([ask(), ask()]);
  const { cachedTokens, queriedTokens } = await ask();
  assertEquals(cachedTokens, queriedTokens - 8 * (620 - 608));
  assertEquals(disk.problems, []);
});

Deno.test("a disk cache that cannot be used is reported once, and everything is answered", async () => {
  const path = await modelOf("llama");
  const prompt = promptOf(600);
  const alone = await aloneOn(path, prompt);
  const file = await Deno.makeTempFile({ dir: FOLDER });
  const problems: string[] = [];
  const diskCache = { folder: file, bytes: 2 ** 30, onProblem: (p: string) => problems.push(p) };
  await withEngine({ ...OPTIONS, path, diskCache }, async (engine) => {
    assertEquals(await answerTo(engine, prompt), alone);
    const { writes, writtenKvBlocks } = engine.status().disk!;
    assertEquals([writes, writtenKvBlocks], [false, 0]);
  });
  assertEquals(problems.length, 1);
  assertMatch(problems[0], /cannot be written to: .*not a directory|something of that name/);
});

Deno.test("prompts shorter than eight KV blocks are not written", async () => {
  const disk = new Disk();
  await disk.engine(
    await modelOf("llama"),
    (engine) => answerTo(engine, promptOf(8 * KV_BLOCK - 20)),
  );
  assertEquals(disk.files(), []);
});

Deno.test("a device in a process of its own reads and writes the same KV blocks", async () => {
  const path = await modelOf("gemma3");
  const prompt = promptOf(1000);
  const alone = await aloneOn(path, prompt);
  const disk = new Disk();
  for (const [i, deviceProcess] of [true, false, true].entries()) {
    await disk.engine(path, async (engine) => {
      assertEquals(await answerTo(engine, prompt), alone);
      assertEquals(engine.status().cachedTokens, i === 0 ? 0 : 992);
    }, { deviceProcess });
  }
  assertEquals(disk.problems, []);
});
