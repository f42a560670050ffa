import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { Engine, type GenerateRequest, M40Error, readGguf } from "../../engine/mod.ts";
import {
  killBusy,
  processesOf,
  replicasOf,
  stepsOf,
  withReplicas,
} from "../fixtures/card_replicas.ts";
import { asking, collect, promptOf } from "../fixtures/engine_fixture.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { answersTo } from "../fixtures/staged_engines.ts";
import { until } from "../fixtures/waiting.ts";
import { writeWindowedModel } from "../fixtures/windowed_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

// A model with a replica on each device, behind one queue: the bits of one device; requests that go to their cached
// prefix, else to the least work; and a lost device.

const folder = await Deno.makeTempDir();
/** The small model in a context of 1024 tokens. */
const MODEL = await writeWindowedModel(folder, "llama", 1024);
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const OPTIONS = { contextTokens: 512, parallel: 4 };

const LONG_WORDS = { kind: "regex" as const, pattern: "((abcdefghij|bcdefghijk|cdefghijkl){20})" };

/** Prompts shorter and longer than a KV block, sampled greedily and by chance. */
function requests(count: number, maxTokens = 20): GenerateRequest[] {
  return Array.from({ length: count }, (_, i) => ({
    ...asking(promptOf(10 + (i * 37) % 90, i), maxTokens + i % 7),
    sampling: { ...asking([1], 1).sampling, temperature: i % 2, seed: 5 + i },
    // Of some answers, most tokens are certain without a step.
    ...(i % 6 === 5 ? { topLogprobs: undefined, constraint: LONG_WORDS } : { topLogprobs: 3 }),
  }));
}

/** What one device answers them, one after the other. */
async function alone(asked: readonly GenerateRequest[]) {
  return await withReplicas(MODEL, 1, { ...OPTIONS, parallel: 1 }, async (engine) => {
    const answers = [];
    for (const one of asked) answers.push(await collect(engine.generate(one)));
    return answers;
  });
}

for (const name of ["llama", "granitehybrid-moe"]) {
  Deno.test(`${name} answers on whichever of three replicas what it does on one device`, async () => {
    const asked = requests(12);
    const few = { contextTokens: 128, parallel: 2, kvBlocks: 8, stateSlots: 4 };
    const one = await withReplicas(
      name,
      1,
      { ...few, parallel: 1 },
      (engine) => answersTo(engine, asked),
    );
    assert(one.every(({ tokens, error }) => tokens.length >= 20 && error === undefined));
    await withReplicas(name, 3, few, async (engine) => {
      assertEquals(await answersTo(engine, asked), one);
      assert(stepsOf(engine).every((steps) => steps > 0), `${stepsOf(engine)}`);
      await engine.idle();
      const { usedKvBlocks, usedSlots, running, waiting, failed } = engine.status();
      assertEquals([usedKvBlocks, usedSlots, running, waiting, failed], [0, 0, 0, 0, undefined]);
    });
  });
}

Deno.test("texts are embedded and scored, and constrained answers sampled, on replicas as on one device", async () => {
  const texts = [promptOf(50, 3), promptOf(30, 4), promptOf(70, 5)];
  const seen = (count: number) =>
    withReplicas(MODEL, count, OPTIONS, async (engine) => {
      const others = answersTo(engine, requests(5));
      const scored = texts.map((text) => engine.score(text, { topLogprobs: 2 }).result);
      const { vectors } = await engine.embed(texts);
      const samples = await Promise.all(
        engine.generateAll([1, 2, 3].map((seed) => ({
          ...asking(texts[0], 8),
          sampling: { temperature: 1, seed },
          constraint: { kind: "regex" as const, pattern: "[ab]{4}" },
        }))).map(collect),
      );
      await others;
      return {
        scored: await Promise.all(scored),
        vectors: vectors.map((one) => [...one]),
        samples,
      };
    });
  const one = await seen(1);
  assertEquals(await seen(2), one);
});

Deno.test("requests spread over idle replicas, and samples of one prompt stay together and compute it once", async () => {
  await withReplicas(MODEL, 2, OPTIONS, async (engine) => {
    const where = (index: number) => engine.replicas![index].sequences;
    const running = Array.from(
      { length: 4 },
      (_, i) => engine.generate(asking(promptOf(9, i), 60)),
    );
    const answers = running.map(collect);
    await until("all run", () => where(0) + where(1) === 4);
    assertEquals([where(0), where(1)], [2, 2]);
    await Promise.all(answers);

    const before = engine.status().promptTokens;
    const prompt = promptOf(100, 9);
    const samples = engine.generateAll(
      [0, 1, 2].map(() => ({ ...asking(prompt, 60) })).map((one) => ({
        ...one,
        prompt,
      })),
    );
    const sampled = samples.map(collect);
    await until("the samples run", () => where(0) + where(1) === 3);
    assertEquals([where(0), where(1)].toSorted(), [0, 3]);
    await Promise.all(sampled);
    assert(engine.status().promptTokens - before < 110, "the prompt is computed once");
  });
});

Deno.test("a conversation's next turn returns to the replica that has its prefix, whatever else is served", async () => {
  await withReplicas(MODEL, 2, OPTIONS, async (engine) => {
    const talks = Array.from({ length: 6 }, (_, i) => promptOf(80, 10 + i));
    const homes = new Map<number, number>();
    for (let turn = 0; turn < 3; turn++) {
      const cached: number[] = [];
      await Promise.all(talks.map(async (talk, i) => {
        const generation = engine.generate(asking(talk, 40));
        let home = -1;
        await until("it runs", () => {
          home = replicasOf(engine).findIndex(({ scheduler }) =>
            scheduler.sequences().includes(generation.sequence)
          );
          return home >= 0;
        });
        assertEquals(homes.get(i) ?? home, home, `talk ${i}, turn ${turn}`);
        homes.set(i, home);
        const { tokens } = await collect(generation);
        cached[i] = generation.cachedTokens;
        talks[i] = [...talk, ...tokens, ...promptOf(10, turn)];
      }));
      if (turn > 0) assert(cached.every((count) => count >= 64), `${cached}`);
    }
    assertEquals(new Set(homes.values()).size, 2);
  });
});

Deno.test("more than may wait are refused, counted over all replicas", async () => {
  await withReplicas(MODEL, 2, { ...OPTIONS, parallel: 2, maxQueue: 3 }, async (engine) => {
    const running = Array.from(
      { length: 7 },
      (_, i) => engine.generate(asking(promptOf(9, i), 90)),
    );
    const answers = running.map(collect);
    const error = await assertRejects(async () => {
      await Promise.resolve();
      engine.generate(asking(promptOf(9), 5));
    }, M40Error);
    assertEquals(error.code, "queue_full");
    await until("all slots are taken", () => engine.status().running === 4);
    assertEquals(engine.status().waiting, 3);
    assertEquals(new Set(engine.slots().map(({ id }) => id)).size, 7);
    running[6].cancel();
    running[5].cancel();
    assertEquals(engine.status().waiting, 1);
    for (const { error } of await Promise.all(answers)) assertEquals(error, undefined);
    await engine.idle();
  });
});

Deno.test("a list that is none of several devices is refused", async () => {
  for (const device of ["cpu", "auto"]) {
    const error = await assertRejects(
      () => Engine.load(GOLDEN, { device, replicas: true }),
      M40Error,
    );
    assertEquals(error.code, "invalid_request");
    assertMatch(error.message, /is one device; wanted a list/);
  }
});

Deno.test("a replica's process is killed under load: nothing is lost or changed, and it comes back", async () => {
  const asked = requests(24, 60);
  const one = await alone(asked);
  const said: string[] = [];
  const options = { ...OPTIONS, deviceProcess: true, onReplica: (text: string) => said.push(text) };
  await withReplicas(MODEL, 2, options, async (engine) => {
    const [, process] = processesOf(engine);
    const generations = asked.map((request) => engine.generate(request));
    const answers = generations.map(collect);
    // Some have begun there, some wait.
    await until("it computes", () => stepsOf(engine)[1] > 5);
    await killBusy(process);
    assertEquals(await Promise.all(answers), one);
    const name = engine.replicas![1].name;
    assertMatch(said[0], new RegExp(`^A replica was lost, .*: .*signal 9.* 1 of 2 go on`));
    assert(said[0].includes(name));
    await until("it is ready again", () => engine.status().lostReplicas!.length === 0);
    assertEquals(engine.replicas!.map(({ state, losses }) => [state, losses]), [["ready", 0], [
      "ready",
      1,
    ]]);
    const later = await answersTo(engine, asked);
    assertEquals(later, one);
    assert(stepsOf(engine)[1] > 0, "the one that came back computes");
    assert(engine.status().steps > 0);
  });
});

Deno.test("an onReplica that throws ends nothing: the other replicas go on, and the lost one comes back", async () => {
  const asked = requests(6);
  const one = await alone(asked);
  const reported: unknown[] = [];
  const options = {
    ...OPTIONS,
    deviceProcess: true,
    onReplica() {
      throw new Error("it is not heard");
    },
    onObserverError: (error: unknown) => reported.push(error),
  };
  await withReplicas(MODEL, 2, options, async (engine) => {
    const answers = answersTo(engine, asked);
    await until("it computes", () => stepsOf(engine)[1] > 2);
    await killBusy(processesOf(engine)[1]);
    assertEquals(await answers, one);
    // A status call notices the loss of an idle device.
    await until("what threw is reported", () => engine.status() && reported.length > 0);
    await until("it is ready again", () => engine.status().lostReplicas!.length === 0);
    assertEquals(String(reported), "Error: it is not heard");
    assert(engine.status().observerErrors >= 2);
  });
});

Deno.test("a replica whose file was replaced meanwhile is not loaded from the other file, and the others go on", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = join(folder, "model.gguf");
  await Deno.copyFile(MODEL, path);
  const asked = requests(4);
  const said: string[] = [];
  const options = {
    ...OPTIONS,
    deviceProcess: true,
    onReplica: (text: string) => said.push(text),
  };
  await withReplicas(path, 2, options, async (engine) => {
    const before = await answersTo(engine, asked);
    const bytes = await Deno.readFile(path);
    const weights = [...(await readGguf(path)).tensors.values()][0];
    bytes.subarray(weights.offset, weights.offset + weights.bytes).fill(1);
    await Deno.writeFile(path + ".new", bytes);
    await Deno.rename(path + ".new", path);
    Deno.kill(processesOf(engine)[0], "SIGKILL");
    const isSaid = () => said.some((text) => text.includes("was replaced"));
    // A status call notices the loss of an idle device.
    await until("that is said", () => engine.status() && isSaid());
    assertEquals(engine.replicas!.map(({ state }) => state === "ready"), [false, true]);
    assertEquals(await answersTo(engine, asked), before);
  });
});

Deno.test("replicas of one kind have one disk cache: what one wrote, another one finds", async () => {
  const problems: string[] = [];
  const onProblem = (problem: string) => problems.push(problem);
  const diskCache = { folder: join(folder, "disk"), bytes: 2 ** 30, onProblem };
  const options = { ...OPTIONS, contextTokens: 1024, deviceProcess: true, diskCache };
  await withReplicas(MODEL, 2, options, async (engine) => {
    const request = asking(promptOf(400, 1), 8);
    const first = engine.generate(request);
    const { tokens } = await collect(first);
    const home = stepsOf(engine).findIndex((steps) => steps > 0);
    await until("its KV blocks are written", () => engine.status().disk!.writtenKvBlocks >= 12);
    const process = processesOf(engine)[home];
    Deno.kill(process, "SIGKILL");
    await until("its loss is noticed", () => engine.status().lostReplicas!.length > 0);
    const second = engine.generate(request);
    assertEquals((await collect(second)).tokens, tokens);
    assertEquals([first.cachedTokens, second.cachedTokens], [0, 384]);
    // The one that is gone counts on.
    const { readKvBlocks, writtenKvBlocks } = engine.status().disk!;
    assert(
      readKvBlocks >= 12 && writtenKvBlocks >= 12,
      `${readKvBlocks} read, ${writtenKvBlocks} written`,
    );
  });
  assertEquals(problems, []);
});
