import { assert, assertEquals } from "@std/assert";
import type { StepSequence } from "../../../engine/device/step_block.ts";
import type { Executor } from "../../../engine/mod.ts";
import { bitsOf, Random, TestDevice } from "../../fixtures/device_harness.ts";
import { B, PlainLayer } from "../../fixtures/plain_layer.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// Which thread blocks of a step's launches the persistent kernel does, where it has fewer than they have. Run by
// slow/emulated_test.ts: only the emulated device can be given so few.

const SHAPE = { hidden: 256, heads: 4, kvHeads: 2, headDim: 64, inner: 1280 };
const KV_BLOCK_TOKENS = 32;

/**
 * What a step computes: a layer as Llama's are, over a cache of its own; or three products, the first thing and the last, some
 * steps one after the other.
 */
type Steps = "a layer" | "three products";

function programOf(device: TestDevice, steps: Steps) {
  const layer = new PlainLayer(device, SHAPE, 5);
  const { hidden, inner } = SHAPE;
  const products = () => [
    layer.matmul(B.hidden, B.gated, hidden, [inner]),
    layer.matmul(B.gated, B.normed, inner, [hidden]),
    layer.matmul(B.normed, B.hidden, hidden, [hidden], B.hidden),
  ];
  return device.program({
    cache: layer.cache(KV_BLOCK_TOKENS),
    limits: { n_tokens: 320 },
    ops: steps === "a layer" ? layer.operations() : products(),
    buffers: layer.buffers(),
  });
}

/** Tokens of each sequence before the decode rows: chunks of attention are of 128. */
const LENGTHS = [140, 3, 290, 127, 260, 1, 129, 5];

/** What comes out of each step, of a program that computes prompts and then decodes some of them together. */
async function follow(executor: Executor, together: number, steps: Steps): Promise<Uint32Array[]> {
  using device = new TestDevice({ executor });
  const program = programOf(device, steps);
  const random = new Random(together);
  let used = 0;
  const kvBlocks = LENGTHS.map((length) =>
    Array.from({ length: Math.ceil((length + 4) / KV_BLOCK_TOKENS) }, () => used++)
  );
  const part = (s: number, position: number, n: number): StepSequence => ({
    ...{ tokens: new Array(n).fill(0), position, kvBlocks: [kvBlocks[s]], outputs: [] },
    decode: position > 0,
  });
  for (let s = 0; s < together; s++) {
    program.writeBuffer(B.hidden, random.floats(LENGTHS[s] * SHAPE.hidden));
    await program.step([part(s, 0, LENGTHS[s])]);
  }
  const seen: Uint32Array[] = [];
  for (let step = 0; step < 3; step++) {
    // Writing or reading buffers makes the kernel leave.
    program.writeBuffer(B.hidden, random.floats(together * SHAPE.hidden));
    for (let again = 0; again < (steps === "a layer" ? 1 : 3); again++) {
      await program.step(Array.from({ length: together }, (_, s) => part(s, LENGTHS[s] + step, 1)));
    }
    seen.push(bitsOf(program.readBuffer(B.hidden, new Float32Array(together * SHAPE.hidden))));
  }
  assertEquals((await program.executors(8))[together - 1], executor);
  return seen;
}

/** Holds the results of kernels of one, two and three thread blocks against those of launches. */
async function compare(together: number, steps: Steps) {
  const wanted = await follow("launches", together, steps);
  assert(new Set(wanted.map((bits) => bits[0])).size > 1, "the values change from step to step");
  for (const blocks of ["1", "2", "3"]) {
    const few = { M40_EMULATION_MULTIPROCESSORS: "1", M40_EMULATION_RESIDENT_BLOCKS: blocks };
    using _environment = new TemporaryEnvironment(few);
    assertEquals(await follow("resident", together, steps), wanted, `${blocks} thread blocks`);
  }
}

for (const together of [1, 2, 4, 7]) {
  Deno.test(`${together} decoded together, with chunks of different numbers: a kernel of one, two or three thread blocks does every block of every launch once`, () =>
    compare(together, "a layer"));
}

Deno.test("a step that begins and one that ends with a product: the blocks of the one are not taken for done by those of the other", () =>
  compare(2, "three products"));
