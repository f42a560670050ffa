import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../engine/device/step_block.ts";
import { Activation, NONE, Norm, Rope } from "../engine/device/structs.ts";
import type { Executor } from "../engine/mod.ts";
import { bitsOf, Random, TestDevice, tokenBuffer } from "./device_harness.ts";
import { withEnvironment } from "./emulated_environment.ts";
import type { GivenOperation } from "./operations.ts";

// Which thread blocks of a step's launches the kernel that stays on the device does, where it has fewer than they have. Run by
// slow/emulated_test.ts: only the emulated device has as few as it is told to.

const HIDDEN = 256;
const HEADS = 4;
const KV_HEADS = 2;
const HEAD_DIM = 64;
const INNER = 1280;
const PAGE_TOKENS = 32;

const enum B {
  hidden,
  normed,
  qkv,
  attended,
  gateUp,
  gated,
}

/**
 * What a step computes: a layer as Llama's are, over a cache of its own; or three products, the first thing and the last, some
 * steps one after the other.
 */
type Steps = "a layer" | "three products";

function programOf(device: TestDevice, steps: Steps) {
  const random = new Random(5);
  const matrix = (rows: number, columns: number) =>
    device.tensor(random.floats(rows * columns, 1 / Math.sqrt(columns)), rows, columns);
  const matmul = (
    input: number,
    output: number,
    columns: number,
    rows: number[],
    residual = NONE,
  ): GivenOperation => ({
    ...{ kind: "matmul", input, output, residual, columns, rows },
    weight: rows.map((n) => matrix(n, columns)),
    output_column: rows.map((_, i) => rows.slice(0, i).reduce((a, b) => a + b, 0)),
  });
  const norm = (input: number, output: number): GivenOperation => ({
    ...{ kind: "norm", input, output, norm: Norm.rms, columns: HIDDEN, epsilon: 1e-5 },
    weight: device.tensor(random.floats(HIDDEN, 0.1).map((value) => 1 + value), HIDDEN),
  });
  const heads = { layer: 0, n_heads: HEADS, n_kv_heads: KV_HEADS, head_dim: HEAD_DIM };
  const kv = KV_HEADS * HEAD_DIM;
  const cache = device.cache({
    ...{ n_kv_heads: KV_HEADS, head_dim: HEAD_DIM, page_tokens: PAGE_TOKENS, n_pages: 64 },
    type: 1,
  });
  const products = () => [
    matmul(B.hidden, B.gated, HIDDEN, [INNER]),
    matmul(B.gated, B.normed, INNER, [HIDDEN]),
    matmul(B.normed, B.hidden, HIDDEN, [HIDDEN], B.hidden),
  ];
  const layer = (): GivenOperation[] => [
    norm(B.hidden, B.normed),
    matmul(B.normed, B.qkv, HIDDEN, [HEADS * HEAD_DIM, kv, kv]),
    { kind: "rope_store", q: B.qkv, ...heads, rope_dim: HEAD_DIM, rope: Rope.halves },
    { kind: "attention", q: B.qkv, output: B.attended, ...heads, scale: 1 / Math.sqrt(HEAD_DIM) },
    matmul(B.attended, B.hidden, HEADS * HEAD_DIM, [HIDDEN], B.hidden),
    norm(B.hidden, B.normed),
    matmul(B.normed, B.gateUp, HIDDEN, [INNER, INNER]),
    {
      ...{ kind: "activation", input: B.gateUp, output: B.gated, columns: INNER, gated: 1 },
      activation: Activation.silu,
    },
    matmul(B.gated, B.hidden, INNER, [HIDDEN], B.hidden),
  ];
  return device.program({
    cache,
    limits: { n_tokens: 320 },
    ops: steps === "a layer" ? layer() : products(),
    buffers: [
      tokenBuffer(HIDDEN),
      tokenBuffer(HIDDEN),
      tokenBuffer(HEADS * HEAD_DIM + 2 * kv),
      tokenBuffer(HEADS * HEAD_DIM),
      tokenBuffer(2 * INNER),
      tokenBuffer(INNER),
    ],
  });
}

/** Tokens that each sequence has before those that are decoded: chunks of attention are of 128. */
const LENGTHS = [140, 3, 290, 127, 260, 1, 129, 5];

/** What comes out of each step, of a program that computes prompts and then decodes some of them together. */
async function follow(executor: Executor, together: number, steps: Steps): Promise<Uint32Array[]> {
  const device = new TestDevice({ executor });
  try {
    const program = programOf(device, steps);
    const random = new Random(together);
    let used = 0;
    const pages = LENGTHS.map((length) =>
      Array.from({ length: Math.ceil((length + 4) / PAGE_TOKENS) }, () => used++)
    );
    const part = (s: number, position: number, n: number): StepSequence => ({
      ...{ tokens: new Array(n).fill(0), position, pages: [pages[s]], outputs: [] },
      decode: position > 0,
    });
    for (let s = 0; s < together; s++) {
      program.writeBuffer(B.hidden, random.floats(LENGTHS[s] * HIDDEN));
      await program.step([part(s, 0, LENGTHS[s])]);
    }
    const seen: Uint32Array[] = [];
    for (let step = 0; step < 3; step++) {
      // Who writes or reads buffers has the kernel leave.
      program.writeBuffer(B.hidden, random.floats(together * HIDDEN));
      for (let again = 0; again < (steps === "a layer" ? 1 : 3); again++) {
        await program.step(
          Array.from({ length: together }, (_, s) => part(s, LENGTHS[s] + step, 1)),
        );
      }
      seen.push(bitsOf(program.readBuffer(B.hidden, new Float32Array(together * HIDDEN))));
    }
    assertEquals((await program.executors(8))[together - 1], executor);
    return seen;
  } finally {
    device.close();
  }
}

/** Holds the results of kernels of one, two and three thread blocks against those of launches. */
async function compare(together: number, steps: Steps) {
  const wanted = await follow("launches", together, steps);
  assert(new Set(wanted.map((bits) => bits[0])).size > 1, "the values change from step to step");
  for (const blocks of ["1", "2", "3"]) {
    const few = { M40_EMULATION_MULTIPROCESSORS: "1", M40_EMULATION_RESIDENT_BLOCKS: blocks };
    await withEnvironment(few, async () => {
      assertEquals(await follow("resident", together, steps), wanted, `${blocks} thread blocks`);
    });
  }
}

for (const together of [1, 2, 4, 7]) {
  Deno.test(`${together} decoded together, with chunks of different numbers: a kernel of one, two or three thread blocks does every block of every launch once`, () =>
    compare(together, "a layer"));
}

Deno.test("a step that begins and one that ends with a product: the blocks of the one are not taken for done by those of the other", () =>
  compare(2, "three products"));
