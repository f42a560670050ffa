import { benchmark, type BenchmarkPlan, type Measurement } from "./benchmark.ts";
import type { Engine } from "../engine.ts";
import { M40Error } from "../errors.ts";
import {
  KV_VALUE_BYTES,
  layerOf,
  nameOf,
  type Operation,
  operationWork,
  type Program,
  type StepSize,
} from "../program/mod.ts";

/** What an operation of a program, or one and the next in one launch, takes in a step. */
export interface OperationProfile {
  /** Its number in the program. */
  readonly index: number;
  readonly kind: Operation["kind"];
  /** The kind of the operation after it, where both are computed in one. */
  readonly fusedKind?: Operation["kind"];
  /** Kinds and weights. */
  readonly name: string;
  /** The layer that it is of; undefined before the first and after the last. */
  readonly layer?: number;
  /** The median of the steps. */
  readonly microseconds: number;
  /** Weights, keys and values and states that it has to read and write, at least. */
  readonly bytes: number;
  /** Multiplications and additions. */
  readonly flop: number;
}

/** Where the time of a step goes. */
export interface StepProfile {
  readonly measured: Measurement;
  /** In the program's order. */
  readonly operations: readonly OperationProfile[];
}

/**
 * Times the operations of an engine's steps, one by one: those that {@link benchmark} times whole. Of each, the
 * median over decode's steps, or over the repetitions of a prompt, is taken; those to warm up are left out. What
 * marks the time between two operations costs a microsecond or two on a GPU.
 *
 * @param program The engine's.
 * @throws {M40Error} "internal" where the program is not the engine's, "device" where the device fails.
 */
export async function* profile(
  engine: Engine,
  program: Program,
  plan: BenchmarkPlan,
): AsyncGenerator<StepProfile> {
  const times: Float32Array[] = [];
  const measurements = benchmark(engine, plan, async (device, sequences) => {
    times.push(await device.profile(sequences));
    return { outputs: [] };
  });
  for await (const measured of measurements) {
    // Several may have been measured before the first of them is handed out.
    const runs = measured.milliseconds.length + 1;
    const taken = times.splice(0, runs * measured.steps).slice(measured.steps);
    yield { measured, operations: profileOf(program, engine, measured, taken) };
  }
}

function profileOf(
  program: Program,
  engine: Engine,
  measured: Measurement,
  times: readonly Float32Array[],
): OperationProfile[] {
  const { operations } = program;
  if (times.some(({ length }) => length !== operations.length)) {
    throw new M40Error(
      "internal",
      `${times[0].length} times of operations: the program has ${operations.length}`,
    );
  }
  const work = operationWork(program, sizeOf(engine, measured));
  const samples = measured.kind === "decode" ? times : meansOf(times, measured.steps);
  const layers = layersOf(program);
  const found: OperationProfile[] = [];
  operations.forEach((operation, index) => {
    const microseconds = median(samples.map((sample) => sample[index]));
    const { bytes, flop } = work[index];
    const name = nameOf(program, operation);
    const before = found.at(-1);
    if (microseconds >= 0 || before === undefined) {
      found.push({
        index,
        kind: operation.kind,
        name,
        layer: layers[index],
        microseconds,
        bytes,
        flop,
      });
      return;
    }
    found[found.length - 1] = {
      ...before,
      fusedKind: operation.kind,
      name: `${before.name} + ${name}`,
      bytes: before.bytes + bytes,
      flop: before.flop + flop,
    };
  });
  return found;
}

/** What one step of a measurement has to do, on average. */
export function sizeOf(engine: Engine, { kind, size, depth, steps }: Measurement): StepSize {
  const prefill = kind === "prefill";
  return {
    tokens: prefill ? size / steps : size,
    outputs: prefill ? 1 / steps : size,
    sequences: prefill ? 1 : size,
    // In a prompt a token sees half of those before it, on average.
    attended: prefill ? size / 2 : depth + steps / 2,
    kvValueBytes: KV_VALUE_BYTES[engine.plan.kvType],
  };
}

/** The layer of each operation: of one without weights, that of the operation before it. */
function layersOf(program: Program): (number | undefined)[] {
  const own = program.operations.map((operation) => layerOf(program, operation));
  const last = own.findLastIndex((layer) => layer !== undefined);
  let layer: number | undefined;
  return own.map((found, i) => {
    layer = found ?? layer;
    return i > last && isBehind(program, i, last) ? undefined : layer;
  });
}

/** Whether operation i comes after the last layer: what only adds to or follows its last product is of it still. */
function isBehind(program: Program, i: number, last: number): boolean {
  return program.operations.slice(last + 1, i + 1).some(({ kind }) =>
    kind !== "add" && kind !== "expert_sum"
  );
}

/** The means of each so many steps that stand in a row. */
function meansOf(times: readonly Float32Array[], steps: number): Float32Array[] {
  return Array.from({ length: times.length / steps }, (_, i) => {
    const group = times.slice(i * steps, (i + 1) * steps);
    return group[0].map((_, operation) =>
      group.reduce((sum, one) => sum + one[operation], 0) / steps
    );
  });
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
