import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { NONE } from "../../engine/device/structs.ts";
import {
  assertClose,
  Random,
  row,
  TestDevice,
  tokenBuffer,
  withDevice,
} from "../fixtures/device_harness.ts";
import { GOLDEN_BLOCKS, type GoldenBlocks, matrixOf } from "../fixtures/golden_blocks.ts";
import { smallModelProgram, VOCAB } from "../fixtures/small_model.ts";

// Decode rows, each of a sequence of its own: products with weights of every type, of 1 to 33 tokens. Their bits depend
// neither on the number of rows nor on prompts in the same step.

const MOST = 40;

/** A program of products of one input with three weights, two of one type and a third of F32. */
function products(device: TestDevice, blocks: GoldenBlocks, rows: number[], columns: number) {
  const random = new Random(7);
  const values: Float32Array[] = [];
  const weights = rows.map((n, i) => {
    if (i === 2) {
      values.push(random.floats(n * columns));
      return device.tensor(values[i], n, columns);
    }
    const matrix = matrixOf(blocks, n, columns, random);
    values.push(matrix.values);
    return device.blocks(blocks.id, matrix.bytes, n, columns);
  });
  const bias = random.floats(rows[1]);
  const width = rows.reduce((a, b) => a + b);
  const program = device.program({
    ops: [{
      kind: "matmul",
      input: 0,
      output: 1,
      n_weights: 3,
      columns,
      weight: weights,
      bias: [NONE, device.tensor(bias, rows[1]), NONE],
      rows,
    }],
    buffers: [tokenBuffer(columns), tokenBuffer(width)],
    limits: { n_tokens: MOST, n_sequences: MOST },
  });
  /** Decodes so many tokens, and computes a prompt of some more. */
  const run = async (input: Float32Array<ArrayBuffer>, decoded: number, prompt = 0) => {
    program.writeBuffer(0, input);
    const sequences = Array.from({ length: decoded }, () => ({
      tokens: [0],
      position: 3,
      kvBlocks: [],
      outputs: [],
      decode: true,
    }));
    const prompts = prompt === 0
      ? []
      : [{ tokens: new Array(prompt).fill(0), position: 0, kvBlocks: [], outputs: [] }];
    await program.step([...sequences, ...prompts]);
    return program.readBuffer(1, new Float32Array((decoded + prompt) * width));
  };
  return { run, values, bias, width };
}

/** Golden values with finite products: F32's are extreme. */
const TYPES = GOLDEN_BLOCKS.filter(({ type }) => type !== "F32");

for (const blocks of TYPES) {
  Deno.test(`decode, ${blocks.type}: 1 to 33 tokens, right, and the same bits alone and among others`, async () => {
    using device = new TestDevice({ threads: 2 });
    const columns = blocks.blockSize === 1 ? 300 : blocks.blockSize === 32 ? 288 : 768;
    const rows = [70, 33, 5];
    const { run, values, bias, width } = products(device, blocks, rows, columns);
    const input = new Random(8).floats(MOST * columns);
    const whole = await run(input, 33);
    const wanted = new Float64Array(33 * width);
    const sizes = new Float64Array(33 * width);
    for (let t = 0; t < 33; t++) {
      let first = 0;
      rows.forEach((n, w) => {
        for (let r = 0; r < n; r++) {
          const at = t * width + first + r;
          for (let c = 0; c < columns; c++) {
            const term = values[w][r * columns + c] * input[t * columns + c];
            wanted[at] += term;
            sizes[at] += Math.abs(term);
          }
          if (w === 1) wanted[at] += bias[r];
        }
        first += n;
      });
    }
    for (let i = 0; i < wanted.length; i++) {
      assert(
        Math.abs(whole[i] - wanted[i]) <= 4e-6 * sizes[i] + 1e-6,
        `value ${i} is ${whole[i]}, wanted ${wanted[i]}`,
      );
    }
    const bits = (values: Float32Array<ArrayBuffer>) => new Uint32Array(values.buffer);
    for (const n of [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32]) {
      const some = await run(input, n);
      assertEquals(bits(some), bits(whole.slice(0, n * width)), `${n} tokens`);
    }
    const beside = await run(input, 3, 20);
    assertEquals(bits(beside.slice(0, 3 * width)), bits(whole.slice(0, 3 * width)));
    for (let t = 3; t < 23; t++) {
      assertClose(row(beside, t, width), row(whole, t, width), 2e-5);
    }
  });
}

/** Tokens of sequence s; its KV blocks are s, s + 8, s + 16, ... */
function part(sequence: number, position: number, n: number): StepSequence {
  const random = new Random(200 + sequence);
  const tokens = Array.from({ length: position + n }, () => random.below(VOCAB));
  return {
    tokens: tokens.slice(position),
    position,
    kvBlocks: [Array.from({ length: Math.ceil((position + n) / 4) }, (_, i) => sequence + 8 * i)],
    outputs: [{ row: n - 1, kind: "logits" }],
    // A prompt of five tokens, and decoded ones after it.
    decode: position >= 5,
  };
}

for (const cacheType of [0, 1]) {
  Deno.test(`decode: a sequence's logits have the same bits alone and among others (cache type ${cacheType})`, async () => {
    const follow = async (others: (position: number) => StepSequence[]) => {
      const seen: Uint32Array[] = [];
      await withDevice({ threads: 2 }, async (device) => {
        const { program } = smallModelProgram(device, cacheType);
        for (let position = 0; position < 20; position += position === 0 ? 5 : 1) {
          const beside = others(position);
          const step = [part(3, position, position === 0 ? 5 : 1), ...beside];
          const decoded = step.filter(({ decode }) => decode);
          const prompts = step.filter(({ decode }) => !decode);
          const order = [...decoded, ...prompts];
          const { outputs } = await program.step(order);
          const { values } = outputs[order.findIndex(({ kvBlocks }) => kvBlocks[0][0] === 3)];
          seen.push(new Uint32Array(values!.slice().buffer));
        }
      });
      return seen;
    };
    const alone = await follow(() => []);
    assert(new Set(alone.map((bits) => bits[0])).size > 10, "the logits change with position");
    const crowded = await follow((position) => {
      if (position === 0) return [0, 1, 2, 4].map((s) => part(s, 0, 5));
      const decoded = [0, 1, 2, 4].slice(0, 1 + position % 4).map((s) => part(s, 5, 1));
      return position % 3 === 0 ? [...decoded, part(5, 0, 5)] : decoded;
    });
    assertEquals(crowded, alone);
  });
}
