import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { RunLimits } from "../../engine/device/program_runs.ts";
import type { StepSequence } from "../../engine/device/step_block.ts";
import type { StepOutput, StepResult } from "../../engine/device/step_result.ts";
import { GREEDY } from "../../engine/device/step_sampling.ts";
import { NONE } from "../../engine/device/structs.ts";
import { M40Error } from "../../engine/errors.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { NO_END } from "../fixtures/device_runs.ts";
import { PATHS } from "../fixtures/exchanging_cards.ts";
import { type RowSplitModel, withRows } from "../fixtures/row_split_model.ts";
import { CONTEXT, type StagedModel, withStages } from "../fixtures/staged_model.ts";

// Runs of a model whose rows are split over cards. All cards compute the same steps, whatever ends the run and
// whenever each notices. Sampled tokens have the bits of steps on one card. Where one card fails, the others do not
// wait for it.

const EMULATED = BACKEND === "emulated";

/** Attention and states. */
const MODELS = EMULATED ? ["llama"] : ["llama", "granitehybrid-moe"];

type Model = Pick<RowSplitModel | StagedModel, "plan"> & {
  readonly device: { step(sequences: readonly StepSequence[]): Promise<StepResult> };
};

/** Sequences on their way: what they have sampled so far, and their next step's part. */
class Texts {
  readonly tokens: number[][];

  constructor(private readonly model: Model, count: number) {
    this.tokens = Array.from({ length: count }, (_, n) => [5 + n, 17, 30 + n]);
  }

  parts(): StepSequence[] {
    const { plan } = this.model;
    const each = Math.ceil(CONTEXT / plan.kvBlockTokens);
    return this.tokens.map((tokens, n) => {
      const first = tokens.length === 3 ? 0 : tokens.length - 1;
      return {
        tokens: tokens.slice(first),
        position: first,
        decode: first > 0,
        kvBlocks: plan.groups.map((_, group) =>
          Array.from({ length: each }, (_, i) => (n * plan.groups.length + group) * each + i)
        ),
        ...plan.cache.states.length > 0 && { states: { from: first === 0 ? NONE : n, to: n } },
        outputs: [{
          row: tokens.length - first - 1,
          sampling: {
            ...{ ...GREEDY, temperature: n % 2, seed: 5n, stream: n, topLogprobs: 2 },
            counter: tokens.length - 3,
          },
        }],
      };
    });
  }

  async step(): Promise<StepOutput[]> {
    const { outputs } = await this.model.device.step(this.parts());
    outputs.forEach(({ sample }, n) => this.tokens[n].push(sample!.token));
    return [...outputs];
  }
}

const endless = (texts: Texts): RunLimits[] =>
  texts.tokens.map(() => ({ tokens: 1000, endTokens: NO_END }));

/** The outputs of each step of a run, which is stopped as soon as `stop` of them have come. */
async function run(
  { device }: RowSplitModel,
  texts: Texts,
  steps: number,
  limits = endless(texts),
  stop = Infinity,
): Promise<(StepOutput | undefined)[][]> {
  const taken: (StepOutput | undefined)[][] = [];
  const running = device.run!(texts.parts(), steps, limits, (outputs) => {
    taken.push([...outputs]);
    outputs.forEach((output, n) => output?.sample && texts.tokens[n].push(output.sample.token));
    if (taken.length >= stop) running.stop();
  });
  if (stop === 0) running.stop();
  await running.over;
  return taken;
}

const stepsOf = (texts: Texts, count: number) =>
  Array.from({ length: count }).reduce<Promise<StepOutput[][]>>(
    async (before) => [...await before, await texts.step()],
    Promise.resolve([]),
  );

const rings = (count: number, entries = 64) => new Array<number>(count).fill(entries);

const LENGTHS = EMULATED ? [1, 3] : [1, 5, 2, 12];
const ALL = LENGTHS.reduce((sum, steps) => sum + steps + 1, 1);

for (const name of MODELS) {
  Deno.test(`${name}: runs on two cards and on three, with steps between them, sample what steps on one card sample`, async () => {
    const wanted = await withStages(name, 1, {}, (model) => stepsOf(new Texts(model, 2), ALL));
    for (const path of PATHS) {
      for (const shares of [[1, 1], [3, 1, 2]]) {
        await withRows(name, shares, { path, rings: rings(shares.length) }, async (model) => {
          const texts = new Texts(model, 2);
          const got: unknown[] = [await texts.step()];
          for (const steps of LENGTHS) {
            const taken = await run(model, texts, steps);
            assertEquals(taken.length, steps);
            got.push(...taken, await texts.step());
          }
          assertEquals(got, wanted, `shares ${shares}, ${path}`);
        });
      }
    }
  });
}

Deno.test("all cards end a run behind the same step, wherever it is stopped: the next ones go on from there", async () => {
  const stops = EMULATED ? [0, 1] : Array.from({ length: 40 }, (_, i) => i % 4);
  await withRows("llama", [1, 1], { rings: rings(2) }, async (model) => {
    let stopped = 0;
    for (const stop of stops) {
      const [texts, others] = [new Texts(model, 2), new Texts(model, 2)];
      await texts.step();
      // They may have begun one more when the stop arrives.
      const taken = await run(model, texts, 20, endless(texts), stop);
      assert(taken.length >= Math.max(1, stop), `${taken.length} steps, stopped after ${stop}`);
      stopped += Number(taken.length < 20);
      const after = await texts.step();
      const alone = await stepsOf(others, taken.length + 2);
      assertEquals([...taken, after], alone.slice(1));
    }
    assert(stopped > 0, "no run was stopped");
  });
});

Deno.test("a run on two cards ends where the last sequence samples its end token or its last one", async () => {
  await withRows("llama", [1, 1], { rings: rings(2) }, async (model) => {
    const alone = new Texts(model, 2);
    const sampled = await stepsOf(alone, 9);
    for (const last of EMULATED ? [3] : [1, 3, 7]) {
      const texts = new Texts(model, 2);
      await texts.step();
      const end = alone.tokens[1][3 + last];
      const first = alone.tokens[1].slice(4).indexOf(end) + 1;
      const taken = await run(model, texts, 20, [
        { tokens: 1, endTokens: NO_END },
        { tokens: 1000, endTokens: new Set([end]) },
      ]);
      const counting = taken.filter((outputs) => outputs.some((one) => one !== undefined));
      assertEquals(
        counting,
        sampled.slice(1, 1 + first).map(([a, b], i) => [i === 0 ? a : undefined, b]),
      );
      // No card waits for another: the exchanges go on.
      await texts.step();
    }
  });
});

Deno.test("a card that times its steps, each alone, computes those too that the first one has put behind a last one", async () => {
  const rows = { rings: rings(2), executors: ["launches", "auto"] } as const;
  await withRows("llama", [1, 1], rows, async (model) => {
    const alone = new Texts(model, 2);
    await stepsOf(alone, 9);
    // So many runs that some end while it still times them.
    for (let last = 1; last <= 6; last++) {
      const texts = new Texts(model, 2);
      await texts.step();
      const limits = alone.tokens.map((tokens) => ({
        tokens: 1000,
        endTokens: new Set([tokens[3 + last]]),
      }));
      await run(model, texts, 20, limits);
      await texts.step();
    }
  });
});

Deno.test("a card whose ring is full for a while waits: its run has the steps of the card that decides", async () => {
  await withRows("llama", [1, 1], { rings: [64, 4] }, async (model) => {
    const [texts, others] = [new Texts(model, 2), new Texts(model, 2)];
    await texts.step();
    const steps = EMULATED ? 4 : 16;
    const taken = await run(model, texts, steps);
    assertEquals(taken, (await stepsOf(others, steps + 1)).slice(1));
  });
});

Deno.test("a run that one card cannot begin fails at once, for all of them, and the next one is computed", async () => {
  // Two entries are no room for two sequences' steps.
  for (const entries of [[2, 64], [64, 2]]) {
    await withRows("llama", [1, 1], { rings: entries }, async (model) => {
      const [texts, others] = [new Texts(model, 2), new Texts(model, 2)];
      await texts.step();
      const begun = performance.now();
      const error = await assertRejects(() => run(model, texts, 8), M40Error);
      assertMatch(error.message, /^card [01]: .*ring of 2 entries/);
      assert(performance.now() - begun < 15_000, "others were waited for");
      const got = await stepsOf(texts, 2);
      const wanted = await stepsOf(others, texts.tokens[0].length - 3);
      assertEquals(got, wanted.slice(-2));
    });
  }
});

Deno.test("a card whose process is killed during a run: the run fails with its name, no card waits on, all can be closed", async () => {
  for (const lost of [0, 1]) {
    let killed = 0;
    await withRows("llama", [1, 1], { process: true, rings: rings(2, 256) }, async (model) => {
      let steps = 0;
      // Steps of so small a model may be over before the signal comes: other runs follow.
      const go = async () => {
        for (let i = 0; i < 1000; i++) {
          const texts = new Texts(model, 1);
          await texts.step();
          await model.device.run!(texts.parts(), CONTEXT - 4, endless(texts), () => {
            if (++steps !== 2) return;
            killed = performance.now();
            Deno.kill(model.libraries[lost].processId!, "SIGKILL");
          }).over;
        }
      };
      const error = await assertRejects(go, M40Error);
      const waited = performance.now() - killed;
      assert(waited < 19_000, "a card waited for the other until it gave up");
      assertEquals(error.code, "device", error.message);
      assertMatch(error.message, new RegExp(`^card ${lost}: .*SIGKILL`));
      assert(steps >= 2, `${steps} steps`);
    });
  }
});
