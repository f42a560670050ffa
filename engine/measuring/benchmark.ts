import { copySpeed, type StepResult, type StepSequence } from "../device/mod.ts";
import { kvBlocksIn, OwnKvBlocks, OwnSlot } from "../scheduler/mod.ts";
import type { Engine, ExclusiveDevice } from "../engine.ts";

/** Bytes that a copy has at least for its speed to be that of the memory. */
const LEAST_COPY_BYTES = 128 * 2 ** 20;

/** What is measured. */
export interface BenchmarkPlan {
  /** Lengths of prompts, in tokens. */
  readonly prompts: readonly number[];
  /** Sequences that decode at the same time. */
  readonly batches: readonly number[];
  /** Tokens that each sequence has before those that are timed. */
  readonly depths: readonly number[];
  /** Steps that a repetition of decode times. */
  readonly steps: number;
  /** Repetitions of each measurement, after one to warm up. */
  readonly repetitions: number;
}

/** One line of the result. */
export interface Measurement {
  readonly kind: "prefill" | "decode";
  /** Tokens of the prompt, or sequences that decode. */
  readonly size: number;
  /** Tokens that a sequence had before. */
  readonly depth: number;
  /** Tokens that a repetition computed. */
  readonly tokens: number;
  /** Device steps that it took. */
  readonly steps: number;
  /** Milliseconds of each repetition. */
  readonly milliseconds: readonly number[];
}

/** Runs a step that is timed. What it gives no output for goes on with the token that it had. */
export type TimedStep = (
  device: ExclusiveDevice,
  sequences: readonly StepSequence[],
) => Promise<StepResult>;

/**
 * Times an engine's steps without scheduler, tokenizer or server. Tokens are made up; attention reads
 * KV blocks that were computed from such tokens. What does not fit the context or the KV cache is left out.
 *
 * @param step How the steps are run that are timed, those to warm up among them.
 */
export async function* benchmark(
  engine: Engine,
  plan: BenchmarkPlan,
  step: TimedStep = (device, sequences) => device.step(sequences),
): AsyncGenerator<Measurement> {
  for (const size of plan.prompts) {
    if (size > engine.contextTokens) continue;
    const measured = await measurePrefill(engine, size, plan.repetitions, step);
    if (measured) yield measured;
  }
  for (const depth of plan.depths) yield* await measureDecode(engine, depth, plan, step);
}

/** Bytes a second that the device reads and writes when it copies, or undefined where it has no room to try. */
export function copyBandwidth(engine: Engine): Promise<number | undefined> {
  return engine.exclusive(async (device) => {
    const { kvBlocks: all, cacheBytes } = engine.plan;
    const kvBlockBytes = cacheBytes / all;
    const count = Math.min(Math.floor(all / 2), Math.ceil(2 ** 30 / kvBlockBytes));
    // What fits a cache says nothing of the memory.
    if (count * kvBlockBytes < LEAST_COPY_BYTES) return undefined;
    return await borrowing(device, 2 * count, 0, (kvBlocks) => {
      // In their order: those that stand side by side go in one copy.
      const sorted = Uint32Array.from(kvBlocks).sort();
      const [from, to] = [sorted.slice(0, count), sorted.slice(count)];
      return copySpeed(
        2 * count * kvBlockBytes,
        () => device.copyKvBlocks(from, to),
        { repeatable: false },
      );
    });
  });
}

async function measurePrefill(
  engine: Engine,
  size: number,
  repetitions: number,
  step: TimedStep,
): Promise<Measurement | undefined> {
  return await engine.exclusive(async (device) => {
    const chunk = engine.plan.limits.n_tokens;
    const steps = Math.ceil(size / chunk);
    const milliseconds: number[] = [];
    return await borrowing(device, device.layout.most(size, chunk), 1, async (kvBlocks, [slot]) => {
      for (let i = 0; i <= repetitions; i++) {
        const own = new OwnKvBlocks(device.layout, kvBlocks);
        const start = performance.now();
        for (let position = 0; position < size; position += chunk) {
          const tokens = madeUp(engine, i, position, Math.min(chunk, size - position));
          const last = position + tokens.length === size;
          await step(device, [{
            tokens,
            position,
            kvBlocks: own.cover(position, tokens.length),
            states: slot?.at(position),
            outputs: last ? [{ row: tokens.length - 1 }] : [],
          }]);
        }
        if (i > 0) milliseconds.push(performance.now() - start);
      }
      return { kind: "prefill", size, depth: 0, tokens: size, steps, milliseconds };
    });
  });
}

/** Decode of each batch at one depth; what a sequence has before is computed once, and copied for the others. */
async function measureDecode(
  engine: Engine,
  depth: number,
  plan: BenchmarkPlan,
  step: TimedStep,
): Promise<Measurement[]> {
  const { limits } = engine.plan;
  const length = depth + plan.steps + 1;
  if (length > engine.contextTokens) return [];
  return await engine.exclusive(async (device) => {
    const most = device.layout.most(length, Math.max(limits.n_tokens, plan.steps + 1));
    // What comes before is read by all in every repetition, and stays as it is.
    const measured = await borrowing(device, most, 1, async (kvBlocks, [before]) => {
      const own = new OwnKvBlocks(device.layout, kvBlocks);
      for (let position = 0; position < depth; position += limits.n_tokens) {
        const tokens = madeUp(engine, 0, position, Math.min(limits.n_tokens, depth - position));
        const table = own.cover(position, tokens.length);
        const states = before?.at(position);
        await device.step([{ tokens, position, kvBlocks: table, states, outputs: [] }]);
      }
      const first = own.cover(depth, plan.steps + 1);
      const results: Measurement[] = [];
      for (const size of plan.batches) {
        if (size > limits.n_sequences) continue;
        const start = { size, depth, first, before, plan, step };
        const measured = await measureBatch(engine, device, start);
        if (measured) results.push(measured);
      }
      return results;
    });
    return measured ?? [];
  });
}

/** What a batch that decodes begins with. */
interface BatchStart {
  readonly size: number;
  readonly depth: number;
  /** The block table of the first sequence, which has so many tokens; the others get copies of its KV blocks. */
  readonly first: readonly (readonly number[])[];
  /** The slot with its states, where the model keeps any. */
  readonly before?: OwnSlot;
  readonly plan: BenchmarkPlan;
  readonly step: TimedStep;
}

async function measureBatch(
  engine: Engine,
  device: ExclusiveDevice,
  { size, depth, first, before, plan, step: run }: BatchStart,
): Promise<Measurement | undefined> {
  const each = device.layout.most(depth + plan.steps + 1, plan.steps + 1);
  return await borrowing(device, (size - 1) * each, size, async (kvBlocks, slots) => {
    const others = Array.from(
      { length: size - 1 },
      (_, i) =>
        new OwnKvBlocks(device.layout, kvBlocks.slice(i * each, (i + 1) * each))
          .cover(depth, plan.steps + 1),
    );
    const from = Uint32Array.from(kvBlocksIn(first));
    for (const other of others) {
      await device.copyKvBlocks(from, Uint32Array.from(kvBlocksIn(other)));
    }
    const sequences = [first, ...others];
    const milliseconds: number[] = [];
    for (let i = 0; i <= plan.repetitions; i++) {
      let tokens = sequences.map((_, n) => madeUp(engine, n, depth, 1)[0]);
      const start = performance.now();
      for (let step = 0; step < plan.steps; step++) {
        const { outputs } = await run(
          device,
          sequences.map((kvBlocks, n) => ({
            tokens: [tokens[n]],
            position: depth + step,
            kvBlocks,
            states: step === 0 && depth > 0 ? slots[n]?.after(before!) : slots[n]?.at(depth + step),
            decode: true,
            outputs: [{ row: 0 }],
          })),
        );
        tokens = tokens.map((token, n) => outputs[n]?.sample?.token ?? token);
      }
      if (i > 0) milliseconds.push(performance.now() - start);
    }
    const tokens = size * plan.steps;
    return { kind: "decode", size, depth, tokens, steps: plan.steps, milliseconds };
  });
}

/**
 * Does something with so many KV blocks and slots, and gives them back; undefined where there are not as many blocks.
 * There are slots for as many as run, and one more; none where the model keeps no states.
 */
async function borrowing<T>(
  device: ExclusiveDevice,
  kvBlocks: number,
  slots: number,
  work: (kvBlocks: readonly number[], slots: readonly OwnSlot[]) => Promise<T>,
): Promise<T | undefined> {
  const taken = device.allocate(kvBlocks);
  if (taken === undefined) return undefined;
  const own = Array.from(
    { length: device.slots === undefined ? 0 : slots },
    () => OwnSlot.take(device.slots!)!,
  );
  try {
    return await work(taken, own);
  } finally {
    device.release(taken);
    for (const slot of own) slot.release();
  }
}

/** Tokens by a fixed rule, the same in every run, none of the first few, which steer models. */
function madeUp(engine: Engine, seed: number, position: number, count: number): number[] {
  const { vocabSize } = engine.model;
  return Array.from(
    { length: count },
    (_, i) =>
      Math.min(300, vocabSize >> 1) + (Math.imul(position + i + 17 * seed, 2654435761) >>> 8) %
        Math.max(1, vocabSize - Math.min(300, vocabSize >> 1)),
  );
}
