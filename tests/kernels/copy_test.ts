import { assertEquals } from "@std/assert";
import type { BufferDesc } from "../../engine/device/descriptions.ts";
import {
  bitsOf,
  everyWay,
  expertBuffer,
  outputBuffer,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";

const TOKENS = 5;

/** Groups of columns: of one buffer, and the places of them in another. */
const CASES = [
  { columns: 64, n_groups: 1 },
  { columns: 1, n_groups: 1, input_column: 36, output_column: 6 },
  // Every second head of 12, to the end of the row.
  {
    columns: 12,
    n_groups: 3,
    input_column: 12,
    input_stride: 24,
    output_column: 5,
    output_stride: 12,
  },
  // Adjacent ones, to places with gaps.
  { columns: 7, n_groups: 5, input_stride: 7, output_column: 1, output_stride: 13 },
  // The same for all.
  { columns: 9, n_groups: 4, input_column: 60, input_stride: 0, output_stride: 16 },
  { columns: 1030, n_groups: 2, input_column: 3, input_stride: 1031, output_stride: 1034 },
];

Deno.test("copy: groups of columns, and nothing else", async () => {
  using device = new TestDevice({ threads: 2 });
  for (const given of CASES) {
    const layout = {
      input_column: 0,
      input_stride: 0,
      output_column: 0,
      output_stride: 0,
      ...given,
    };
    const { columns, n_groups, input_column, input_stride, output_column, output_stride } = layout;
    const from = input_column + (n_groups - 1) * input_stride + columns;
    const to = output_column + (n_groups - 1) * output_stride + columns + 2;
    const buffers: [BufferDesc, BufferDesc, rows: number][] = [
      [tokenBuffer(from), tokenBuffer(to), 1],
      [outputBuffer(from), outputBuffer(to), 1],
      [expertBuffer(from, 3), expertBuffer(to, 3), 3],
    ];
    for (const [input, output, rows] of buffers) {
      const random = new Random(from);
      const values = random.floats(TOKENS * rows * from);
      const before = random.floats(TOKENS * rows * to);
      const wanted = before.slice();
      for (let row = 0; row < TOKENS * rows; row++) {
        for (let i = 0; i < n_groups * columns; i++) {
          const [group, c] = [Math.floor(i / columns), i % columns];
          const source = row * from + input_column + group * input_stride + c;
          wanted[row * to + output_column + group * output_stride + c] = values[source];
        }
      }
      const recipe = {
        ops: [{ kind: "copy" as const, input: 0, output: 1, ...layout }],
        buffers: [input, output],
      };
      const both = await everyWay(device, recipe, TOKENS, { 0: values, 1: before }, 1);
      for (const got of both) assertEquals(bitsOf(got), bitsOf(wanted), JSON.stringify(given));
    }
  }
});
