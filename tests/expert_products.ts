/**
 * Products of rows with the weights of an expert each, as programs of one operation, and their results in float64.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { StepSequence } from "../engine/device/step_block.ts";
import {
  expertBuffer,
  indexBuffer,
  type Random,
  row,
  type TestDevice,
  tokenBuffer,
} from "./device_harness.ts";
import { blocksOf, type GoldenBlocks, matrixOf } from "./golden_blocks.ts";

/** Columns of the output before those of each weight, which no weight writes, and what they hold. */
const GAP = 4;
const BEFORE = -7;

export interface Shape {
  readonly experts: number;
  /** Experts of a token, the shared one included. */
  readonly used: number;
  /** Whether there is one more expert, whose weights are apart: number `experts`. */
  readonly shared?: boolean;
  readonly columns: number;
  /** Of each weight, one or two. */
  readonly rows: readonly number[];
  /** Of each weight; all F32 where absent. */
  readonly types?: readonly GoldenBlocks[];
  /** Whether the input has a row a token and chosen expert; else a row a token. */
  readonly inputPerSlot?: boolean;
  /** Columns of the input beyond those that are multiplied. */
  readonly inputGap?: number;
}

/** Tokens of a step: decoded ones, each a sequence of its own, and then a prompt's. */
export interface Part {
  readonly decoded: readonly number[];
  readonly prompt: readonly number[];
}

/** An expert_matmul as a program, with an input and choices of experts for `most` tokens, of which steps take some. */
export class Products {
  readonly width: number;
  private readonly starts: number[] = [];
  private readonly weights: { values: Float32Array<ArrayBuffer> }[] = [];
  private readonly input: Float32Array<ArrayBuffer>;
  private readonly program;
  private readonly stride: number;

  /** chosen: [most, used] */
  constructor(
    device: TestDevice,
    private readonly shape: Shape,
    private readonly chosen: Uint32Array<ArrayBuffer>,
    random: Random,
  ) {
    const { experts, used, columns, rows, types = rows.map(() => blocksOf("F32")), inputGap = 0 } =
      shape;
    const most = chosen.length / used;
    this.stride = columns + inputGap;
    this.input = random.floats(most * (shape.inputPerSlot ? used : 1) * this.stride);
    let width = 0;
    const shared: number[] = [];
    const tensors = rows.map((n, i) => {
      const all = experts + (shape.shared ? 1 : 0);
      const { bytes, values } = matrixOf(types[i], all * n, columns, random);
      this.weights.push({ values });
      this.starts.push(width += GAP);
      width += n;
      const end = bytes.length / all * experts;
      if (shape.shared) shared.push(device.blocks(types[i].id, bytes.slice(end), n, columns));
      return device.blocks(types[i].id, bytes.slice(0, end), n, columns, experts);
    });
    this.width = width;
    const two = (values: readonly number[]) => [values[0], values[1] ?? 0];
    this.program = device.program({
      ops: [{
        kind: "expert_matmul",
        input: 0,
        experts: 1,
        output: 2,
        n_weights: rows.length,
        columns,
        n_used: used,
        n_experts: experts,
        weight: two(tensors),
        shared,
        rows: two(rows),
        output_column: two(this.starts),
      }],
      buffers: [
        shape.inputPerSlot ? expertBuffer(this.stride, used) : tokenBuffer(this.stride),
        indexBuffer(used),
        expertBuffer(width, used),
      ],
      limits: { n_tokens: most, n_sequences: most, n_outputs: 1 },
    });
  }

  /** What a step of these tokens makes of each: [used, width] a token, decoded ones first, as bits. */
  async run({ decoded, prompt }: Part): Promise<Uint32Array<ArrayBuffer>[]> {
    const { used, inputPerSlot } = this.shape;
    const tokens = [...decoded, ...prompt];
    const a = inputPerSlot ? used : 1;
    const gather = <T extends Float32Array | Uint32Array>(from: T, size: number) =>
      tokens.map((t) => from.slice(t * size, (t + 1) * size)).flatMap((values) => [...values]);
    this.program.writeBuffer(0, Float32Array.from(gather(this.input, a * this.stride)));
    this.program.writeBuffer(1, Uint32Array.from(gather(this.chosen, used)));
    // One row more than are written, where there is room.
    const most = this.chosen.length / used;
    const before = new Float32Array(Math.min(tokens.length + 1, most) * used * this.width).fill(
      BEFORE,
    );
    this.program.writeBuffer(2, before);
    const sequence = (n: number, decode: boolean): StepSequence => ({
      tokens: new Array(n).fill(0),
      position: 0,
      pages: [],
      outputs: [],
      decode,
    });
    await this.program.step([
      ...decoded.map(() => sequence(1, true)),
      ...(prompt.length > 0 ? [sequence(prompt.length, false)] : []),
    ]);
    const got = this.program.readBuffer(2, before);
    const size = used * this.width;
    assert(got.subarray(tokens.length * size).every((value) => value === BEFORE), "rows too many");
    return tokens.map((_, i) => new Uint32Array(got.slice(i * size, (i + 1) * size).buffer));
  }

  /** Fails where the result of a token is not that of float64, or columns were written that are no weight's. */
  check(token: number, bits: Uint32Array<ArrayBuffer>, what: string): void {
    const { used, columns, rows, inputPerSlot } = this.shape;
    const got = new Float32Array(bits.buffer);
    for (let slot = 0; slot < used; slot++) {
      const at = inputPerSlot ? token * used + slot : token;
      const input = this.input.subarray(at * this.stride, at * this.stride + columns);
      const expert = this.chosen[token * used + slot];
      const mine = row(got, slot, this.width);
      rows.forEach((n, w) => {
        const gap = mine.subarray(this.starts[w] - GAP, this.starts[w]);
        assert(gap.every((value) => value === BEFORE), `${what}: columns before weight ${w}`);
        for (let r = 0; r < n; r++) {
          const first = (expert * n + r) * columns;
          let wanted = 0;
          let size = 0;
          for (let c = 0; c < columns; c++) {
            const term = this.weights[w].values[first + c] * input[c];
            wanted += term;
            size += Math.abs(term);
          }
          const value = mine[this.starts[w] + r];
          assert(
            Math.abs(value - wanted) <= 1e-6 * size,
            `${what}: token ${token}, slot ${slot} (expert ${expert}), row ${r} of weight ${w} is ` +
              `${value}, wanted ${wanted}`,
          );
        }
      });
    }
  }
}

/** Different experts for each token, at random, and last the shared one, where there is one: [tokens, used]. */
export function choose(
  tokens: number,
  experts: number,
  used: number,
  random: Random,
  shared = false,
): Uint32Array<ArrayBuffer> {
  const routed = used - (shared ? 1 : 0);
  const chosen = Array.from({ length: tokens }, () => {
    const left = range(0, experts);
    const mine = Array.from({ length: routed }, () => left.splice(random.below(left.length), 1)[0]);
    return shared ? [...mine, experts] : mine;
  });
  return Uint32Array.from(chosen.flat());
}

/** The numbers from one to another, without that. */
export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}
