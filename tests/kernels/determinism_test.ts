import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { GREEDY, type StepSampling } from "../../engine/device/step_sampling.ts";
import type { OutputKind } from "../../engine/device/step_result.ts";
import { BACKEND, Random, TestDevice, withDevice } from "../fixtures/device_harness.ts";
import { smallModelProgram, VOCAB } from "../fixtures/small_model.ts";

// A sequence's results depend on nothing but the sequence: equal to the last bit, whoever else is served.

const LENGTH = 22;
const SAMPLING: StepSampling = { ...GREEDY, temperature: 0.9, topP: 0.95, seed: 77n };

/** Tokens of sequence s; its KV blocks are s, s + 8, s + 16, ... */
function tokensOf(sequence: number): number[] {
  const random = new Random(100 + sequence);
  return Array.from({ length: LENGTH }, () => random.below(VOCAB));
}

/** A part of a sequence, every row an output. */
function part(
  sequence: number,
  position: number,
  n: number,
  kind: OutputKind = "logits",
): StepSequence {
  return {
    tokens: tokensOf(sequence).slice(position, position + n),
    position,
    kvBlocks: [Array.from({ length: Math.ceil((position + n) / 4) }, (_, i) => sequence + 8 * i)],
    outputs: Array.from({ length: n }, (_, row) => ({
      row,
      kind,
      sampling: { ...SAMPLING, counter: position + row },
    })),
  };
}

interface Run {
  bits: Uint32Array[];
  samples: number[];
}

/** Runs the steps; returns logits (as bits) and tokens of every position of the sequence. */
async function follow(
  options: { threads: number; instructionSet?: string; cacheType?: number },
  sequence: number,
  steps: StepSequence[][],
): Promise<Run> {
  const run: Run = { bits: [], samples: [] };
  await withDevice(options, async (device) => {
    const { program } = smallModelProgram(device, options.cacheType);
    for (const step of steps) {
      // The same step twice, as an output is of one kind.
      const { outputs: logits } = await program.step(step);
      const asked = step.flatMap(({ outputs, kvBlocks }) =>
        outputs.map(() => kvBlocks[0][0] === sequence)
      );
      const bits = logits.map(({ values }) => new Uint32Array(values!.slice().buffer));
      run.bits.push(...bits.filter((_, row) => asked[row]));
      const sampled = step.map((one) => ({
        ...one,
        outputs: one.outputs.map((output) => ({ ...output, kind: "sample" as const })),
      }));
      const { outputs } = await program.step(sampled);
      run.samples.push(
        ...outputs.filter((_, row) => asked[row]).map(({ sample }) => sample!.token),
      );
    }
  });
  assertEquals(run.bits.length, LENGTH);
  return run;
}

const alone = Array.from({ length: LENGTH }, (_, i) => [part(3, i, 1)]);

for (const cacheType of [0, 1]) {
  Deno.test(`logits are equal to the bit alone, in prompts' chunks and among others (cache type ${cacheType})`, async () => {
    const wanted = await follow({ threads: 1, cacheType }, 3, alone);
    assert(new Set(wanted.bits.map((bits) => bits[0])).size > 1, "the logits change with position");
    const whole = await follow({ threads: 1, cacheType }, 3, [[part(3, 0, LENGTH)]]);
    assertEquals(whole, wanted);
    const crowded = await follow({ threads: 1, cacheType }, 3, [
      [part(0, 0, 9), part(3, 0, 5), part(1, 0, 1)],
      [part(3, 5, 1)],
      [part(5, 0, 20), part(1, 1, 3), part(3, 6, 10), part(0, 9, 1), part(2, 0, 2)],
      [part(0, 10, 2), part(3, 16, 1), part(2, 2, 1)],
      [part(3, 17, 5), part(2, 3, 11)],
    ]);
    assertEquals(crowded, wanted);
  });
}

// Only the CPU library takes a number of threads.
for (const threads of BACKEND === "cpu" ? [2, 3, 7] : []) {
  Deno.test(`logits are equal to the bit with 1 and with ${threads} threads`, async () => {
    const steps = [[part(0, 0, 9), part(3, 0, 12)], [part(3, 12, 10), part(1, 0, 3)]];
    const wanted = await follow({ threads: 1 }, 3, steps);
    // Which thread gets what differs from run to run.
    for (let i = 0; i < 3; i++) assertEquals(await follow({ threads }, 3, steps), wanted);
  });
}

const sleepers = {
  name: "threads that went to sleep between steps wake up for the next one",
  ignore: BACKEND !== "cpu",
};
Deno.test(sleepers, async () => {
  using device = new TestDevice({ threads: 4 });
  const { program } = smallModelProgram(device);
  const logits = async () =>
    (await program.step([part(3, 0, LENGTH)])).outputs.map(({ values }) => values!.slice());
  const wanted = await logits();
  for (let i = 0; i < 20; i++) {
    await new Promise((resolve) => setTimeout(resolve, i % 4));
    assertEquals(await logits(), wanted);
  }
});
