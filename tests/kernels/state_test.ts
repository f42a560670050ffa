/** Operations with a state: what they compute, however a sequence's tokens are cut into steps. */
import { assertEquals } from "@std/assert";
import type { Cache } from "../../engine/device/context.ts";
import type { DeviceProgram } from "../../engine/device/device_program.ts";
import { NONE } from "../../engine/device/structs.ts";
import {
  assertClose,
  BACKEND,
  bitsOf,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { CASES, convCase, deltaCase, scanCase, type StateCase } from "../fixtures/state_float64.ts";

const TOKENS = 70;

/** Some tokens of a sequence that are computed in one step. */
interface Turn {
  readonly sequence: Sequence;
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly count: number;
  readonly decode?: boolean;
}

/** A sequence's tokens: random inputs of the operation. */
class Sequence {
  readonly inputs: readonly Float32Array<ArrayBuffer>[];

  constructor(readonly of: StateCase, seed: number, readonly tokens = TOKENS) {
    const random = new Random(seed);
    this.inputs = of.inputs.map((columns) => random.floats(tokens * columns));
  }

  rows(input: number, first: number, count: number): Float32Array<ArrayBuffer> {
    const columns = this.of.inputs[input];
    return this.inputs[input].slice(first * columns, (first + count) * columns);
  }

  /** What float64 makes of it. */
  wanted(): number[] {
    const { inputs, compute } = this.of;
    return compute(this.tokens, (i, t, c) => this.inputs[i][t * inputs[i] + c]).flat();
  }
}

/** A program of one operation over slots of its state. */
class Recurrence {
  readonly cache: Cache;
  readonly program: DeviceProgram;

  constructor(private readonly device: TestDevice, readonly of: StateCase, slots = 8) {
    this.cache = device.cache({ n_layers: 0, states: [of.state], slots });
    this.program = device.program({
      ops: [of.operation(device)],
      buffers: [...of.inputs, of.outputColumns].map(tokenBuffer),
      limits: { n_tokens: 4 * TOKENS, n_sequence_kv_blocks: 0 },
      cache: this.cache,
    });
  }

  /** Runs a step; returns the output's rows of each turn. */
  async step(...turns: readonly Turn[]): Promise<Float32Array<ArrayBuffer>[]> {
    const { inputs, outputColumns } = this.of;
    inputs.forEach((_, i) => {
      const rows = turns.map(({ sequence, first, count }) => [...sequence.rows(i, first, count)]);
      this.program.writeBuffer(i, Float32Array.from(rows.flat()));
    });
    await this.program.step(turns.map(({ from, to, first, count, decode }) => ({
      tokens: new Array(count).fill(0),
      position: first,
      kvBlocks: [],
      states: { from, to },
      outputs: [],
      decode,
    })));
    const rows = turns.reduce((sum, { count }) => sum + count, 0);
    const output = this.program.readBuffer(inputs.length, new Float32Array(rows * outputColumns));
    let row = 0;
    return turns.map(({ count }) =>
      output.slice(row * outputColumns, (row += count) * outputColumns)
    );
  }

  /** A sequence's whole output, its tokens cut into pieces of these sizes, over and over. */
  async run(
    sequence: Sequence,
    sizes: readonly number[],
    options: { slots?: readonly number[]; decode?: (first: number) => boolean } = {},
  ): Promise<Float32Array<ArrayBuffer>> {
    const { slots = [0], decode = () => false } = options;
    const { tokens } = sequence;
    const parts: number[] = [];
    let from = NONE;
    for (let first = 0, i = 0; first < tokens; i++) {
      const count = Math.min(sizes[i % sizes.length], tokens - first);
      const to = slots[i % slots.length];
      const turn = { sequence, from, to, first, count, decode: decode(first) };
      parts.push(...(await this.step(turn))[0]);
      from = to;
      first += count;
    }
    return Float32Array.from(parts);
  }
}

const same = (
  got: Float32Array<ArrayBuffer>,
  wanted: Float32Array<ArrayBuffer>,
  what: string,
) => assertEquals(bitsOf(got), bitsOf(wanted), what);

/** Part of a whole output. */
const partOf = ({ of }: Sequence, whole: Float32Array<ArrayBuffer>, first: number, count: number) =>
  whole.slice(first * of.outputColumns, (first + count) * of.outputColumns);

for (const of of CASES) {
  Deno.test(`${of.name}: what float64 makes of it, with the same bits for any chunks, slots and decoded rows`, async () => {
    using device = new TestDevice({ threads: 3 });
    const recurrence = new Recurrence(device, of);
    const sequence = new Sequence(of, 1);
    const whole = await recurrence.run(sequence, [TOKENS]);
    assertClose(whole, sequence.wanted(), 1e-5);
    for (const sizes of [[1], [7], [32], [64], [1, 2, 3, 30]]) {
      same(await recurrence.run(sequence, sizes), whole, `chunks of ${sizes}`);
    }
    same(await recurrence.run(sequence, [9], { slots: [3, 5] }), whole, "slots by turns");
    const decoded = await recurrence.run(sequence, [1], { decode: () => true });
    same(decoded, whole, "decoded one by one");
    const several = { slots: [2, 7, 4], decode: () => true };
    same(await recurrence.run(sequence, [4, 1, 5], several), whole, "decoded, several a step");
    const answered = { slots: [6], decode: (first: number) => first >= 33 };
    same(await recurrence.run(sequence, [33, 2], answered), whole, "a prompt, then decoded rows");
  });
}

/** One of each operation. */
const EACH = [
  convCase({ columns: 48, kernel: 4, silu: true }),
  deltaCase({ heads: 4, kHeads: 2, keyDim: 16, valueDim: 16, cycled: true }),
  scanCase({ heads: 4, groups: 2, headDim: 16, stateDim: 16 }),
];

for (const of of EACH) {
  const [kind] = of.name.split(" ");

  Deno.test(`${kind}: a sequence's bits do not depend on what else is in the step`, async () => {
    using device = new TestDevice({ threads: 3 });
    const recurrence = new Recurrence(device, of);
    const sequences = [11, 12, 13, 14].map((seed) => new Sequence(of, seed));
    const alone: Float32Array<ArrayBuffer>[] = [];
    for (const sequence of sequences) alone.push(await recurrence.run(sequence, [TOKENS]));
    const check = async (...turns: readonly Turn[]) => {
      const outputs = await recurrence.step(...turns);
      turns.forEach(({ sequence, first, count }, i) => {
        const wanted = partOf(sequence, alone[sequences.indexOf(sequence)], first, count);
        same(outputs[i], wanted, `tokens ${first} to ${first + count} of sequence ${i}`);
      });
    };
    const [a, b, c, d] = sequences;
    await check(
      { sequence: a, from: NONE, to: 0, first: 0, count: 40 },
      { sequence: b, from: NONE, to: 1, first: 0, count: 1 },
      { sequence: c, from: NONE, to: 2, first: 0, count: 17 },
    );
    // Decode rows, one of them of a sequence that continues in another slot, and prompts; d begins in the middle.
    await check(
      { sequence: a, from: 0, to: 5, first: 40, count: 3, decode: true },
      { sequence: c, from: 2, to: 2, first: 17, count: 1, decode: true },
      { sequence: d, from: NONE, to: 3, first: 0, count: 29 },
      { sequence: b, from: 1, to: 1, first: 1, count: 30 },
    );
    // Slots 0 and 5 are a's after 40 tokens and after 43. The two that read slot 5 write others.
    await check(
      { sequence: a, from: 5, to: 6, first: 43, count: 2, decode: true },
      { sequence: a, from: 5, to: 7, first: 43, count: 1, decode: true },
      { sequence: d, from: 3, to: 3, first: 29, count: 1, decode: true },
      { sequence: a, from: 0, to: 0, first: 40, count: 20 },
    );
    // What was read is as it was, and what was written is what it should be.
    await check(
      { sequence: a, from: 5, to: 5, first: 43, count: 27, decode: true },
      { sequence: a, from: 6, to: 6, first: 45, count: 25 },
      { sequence: a, from: 7, to: 7, first: 44, count: 26 },
      { sequence: a, from: 0, to: 0, first: 60, count: 10 },
    );
  });

  Deno.test(`${kind}: slots come back from host memory bit for bit, wherever they are put`, async () => {
    using device = new TestDevice();
    const recurrence = new Recurrence(device, of);
    const { cache } = recurrence;
    const { slotBytes } = device.context.cacheBytes(cache.desc);
    const [a, b] = [new Sequence(of, 21), new Sequence(of, 22)];
    const alone = [await recurrence.run(a, [TOKENS]), await recurrence.run(b, [TOKENS])];
    await recurrence.step(
      { sequence: a, from: NONE, to: 6, first: 0, count: 20 },
      { sequence: b, from: NONE, to: 7, first: 0, count: 5 },
    );
    const memory = device.context.hostMemory(2 * slotBytes);
    await cache.save("slots", Uint32Array.of(6, 7), memory);
    // Others' states come and go.
    await recurrence.run(a, [10], { slots: [6, 7, 1, 0] });
    await cache.restore("slots", Uint32Array.of(1, 0), memory);
    const again = device.context.hostMemory(2 * slotBytes);
    await cache.save("slots", Uint32Array.of(1, 0), again);
    assertEquals(again, memory);
    const [rest, other] = await recurrence.step(
      { sequence: a, from: 1, to: 1, first: 20, count: 50 },
      { sequence: b, from: 0, to: 3, first: 5, count: 65 },
    );
    same(rest, partOf(a, alone[0], 20, 50), "the first");
    same(other, partOf(b, alone[1], 5, 65), "the second");
  });

  Deno.test({
    name:
      `${kind}: every instruction set computes it, with the same bits for any number of threads`,
    ignore: BACKEND !== "cpu",
    fn: async () => {
      for (const instructionSet of ["baseline", "avx", "avx2", "avx512"]) {
        const runs: Float32Array<ArrayBuffer>[] = [];
        const sequence = new Sequence(of, 31);
        for (const threads of [1, 4]) {
          let device;
          try {
            device = new TestDevice({ threads, instructionSet });
          } catch {
            continue; // this processor has none of it
          }
          try {
            runs.push(await new Recurrence(device, of).run(sequence, [TOKENS]));
          } finally {
            device.close();
          }
        }
        if (runs.length === 0) continue;
        assertClose(runs[0], sequence.wanted(), 1e-5);
        same(runs[1], runs[0], instructionSet);
      }
    },
  });
}

Deno.test("states of several operations in one slot keep apart, with a KV cache or without one", async () => {
  for (const n_layers of [0, 1]) {
    using device = new TestDevice();
    const cache = device.cache({ n_layers, states: EACH.map(({ state }) => state), slots: 2 });
    const columns = EACH.flatMap(({ inputs, outputColumns }) => [...inputs, outputColumns]);
    const sequences = EACH.map((of, i) => new Sequence(of, 41 + i));
    let first = 0;
    const firsts = EACH.map(({ inputs }) => (first += inputs.length + 1) - inputs.length - 1);
    const program = device.program({
      ops: EACH.map((of, i) => {
        const op = of.operation(device);
        const buffers = ["input", "qkv", "gates", "steps", "output"];
        const moved = Object.entries(op).map((
          [name, value],
        ) => [name, buffers.includes(name) ? firsts[i] + (value as number) : value]);
        return { ...Object.fromEntries(moved), state: i };
      }),
      buffers: columns.map(tokenBuffer),
      limits: { n_tokens: TOKENS, n_sequence_kv_blocks: 32 },
      cache,
    });
    const got: number[][] = EACH.map(() => []);
    for (const [at, count, from, to] of [[0, 30, NONE, 1], [30, 40, 1, 0]]) {
      sequences.forEach((sequence, i) =>
        sequence.inputs.forEach((_, input) =>
          program.writeBuffer(firsts[i] + input, sequence.rows(input, at, count))
        )
      );
      const kvBlocks = n_layers === 0 ? [] : [[]];
      const tokens = new Array(count).fill(0);
      await program.step([{ tokens, position: at, kvBlocks, states: { from, to }, outputs: [] }]);
      EACH.forEach(({ inputs, outputColumns }, i) => {
        const values = new Float32Array(count * outputColumns);
        got[i].push(...program.readBuffer(firsts[i] + inputs.length, values));
      });
    }
    EACH.forEach((_, i) => assertClose(got[i], sequences[i].wanted(), 1e-5));
  }
});
