/**
 * Sequences for tests of runs: how they draw, their steps, and the small model with states.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import type { RunLimits } from "../engine/device/run_block.ts";
import { ringBytes } from "../engine/device/run_ring.ts";
import type { StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput } from "../engine/device/step_result.ts";
import { GREEDY, type StepSampling } from "../engine/device/step_sampling.ts";
import { NONE } from "../engine/device/structs.ts";
import type { TestDevice } from "./device_harness.ts";
import { smallModel, STATES, VOCAB, withStates } from "./small_model.ts";

export const PROMPT = 3;
/** A token whose embedding is infinite. */
export const SPOILT = 50;
export const NO_END: ReadonlySet<number> = new Set();

/** How sequences draw, one after the other. */
export const SAMPLINGS: readonly StepSampling[] = [
  { ...GREEDY, topLogprobs: 3 },
  { ...GREEDY, temperature: 1.2, seed: 5n },
  { ...GREEDY, temperature: 0.9, topP: 0.9, seed: 5n, stream: 1, topLogprobs: 20 },
  { ...GREEDY, temperature: 1, topK: 40, seed: 8n, tokenBiases: new Map([[3, 2], [9, -Infinity]]) },
  { ...GREEDY, temperature: 1.5, xtcProbability: 0.5, xtcThreshold: 0.05, seed: 1n },
];

/** A sequence on its way: its tokens, and how they are drawn. */
export interface Course {
  readonly tokens: number[];
  readonly sampling: StepSampling;
  readonly pages: number[];
  readonly prompt: number;
  /** Where its state is, of a model that keeps some. */
  slot?: number;
}

export function courses(count: number, place = 0): Course[] {
  return Array.from({ length: count }, (_, s) => {
    const prompt = PROMPT + s;
    return {
      prompt,
      tokens: Array.from({ length: prompt }, (_, i) => (7 + 11 * s + 5 * i) % VOCAB),
      sampling: SAMPLINGS[s % SAMPLINGS.length],
      // Neighbours in the sequence are no neighbours in the cache.
      pages: Array.from({ length: 8 }, (_, i) => (place + s + 8 * i) % 64),
    };
  });
}

/** A sequence's next part: its prompt, or its last token. */
export function part({ tokens, sampling, pages, prompt, slot }: Course): StepSequence {
  const first = tokens.length === prompt ? 0 : tokens.length - 1;
  return {
    ...slot !== undefined && { states: { from: first === 0 ? NONE : slot, to: slot } },
    tokens: tokens.slice(first),
    position: first,
    pages: [pages],
    outputs: [{
      row: tokens.length - first - 1,
      sampling: { ...sampling, counter: tokens.length - prompt },
    }],
    decode: first > 0,
  };
}

/** One step of these sequences, whose tokens are taken in. */
export async function step(program: DeviceProgram, some: readonly Course[]): Promise<StepOutput[]> {
  const { outputs } = await program.step(some.map(part));
  outputs.forEach(({ sample }, i) => sample && some[i].tokens.push(sample.token));
  return [...outputs];
}

/** A run of these sequences, whose tokens are taken in: what each step gave. */
export async function run(
  program: DeviceProgram,
  some: readonly Course[],
  steps: number,
  limits: readonly RunLimits[],
): Promise<(StepOutput | undefined)[][]> {
  const taken: (StepOutput | undefined)[][] = [];
  await program.run(some.map(part), steps, limits, (outputs) => {
    taken.push([...outputs]);
    outputs.forEach((output, i) => output?.sample && some[i].tokens.push(output.sample.token));
  }).over;
  return taken;
}

export const endless = (some: readonly Course[]): RunLimits[] =>
  some.map(() => ({ tokens: 100, endTokens: NO_END }));

/** A program that has runs through a ring of so many entries. */
export function open(device: TestDevice, program: DeviceProgram, entries: number): DeviceProgram {
  program.openRuns(device.context.hostMemory(ringBytes(entries)));
  return program;
}

/** The small model with states that its K and V follow from, over a cache of its own with 16 slots. */
export function statefulProgram(device: TestDevice, spoilt?: number): DeviceProgram {
  const layers = { n_layers: 2, n_kv_heads: 2, head_dim: 12, n_pages: 64 };
  const cache = device.cache({ ...layers, states: STATES, slots: 16 });
  const { ops, ...recipe } = withStates(device, smallModel(device, cache, spoilt));
  const stateful = ops.filter(({ kind }) =>
    ["conv", "delta_rule", "selective_scan", "copy"].includes(kind)
  );
  assertEquals(stateful.length, 5);
  const [embed, ...others] = ops.filter((op) => !stateful.includes(op));
  return device.program({ ...recipe, ops: [embed, ...stateful, ...others] });
}

/** Courses of a model with states, in slots from `slot` on. */
export const stateful = (count: number, place: number, slot: number): Course[] =>
  courses(count, place).map((one, i) => ({ ...one, slot: slot + i }));
