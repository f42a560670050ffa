import { assertEquals } from "@std/assert";
import { Arithmetic } from "../../engine/device/structs.ts";
import {
  bitsOf,
  expertBuffer,
  indexBuffer,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { choose, range } from "../fixtures/expert_products.ts";
import { blocksOf, matrixOf } from "../fixtures/golden_blocks.ts";
import { mixedStep } from "../fixtures/packed_products.ts";
import {
  PACKED_TYPES,
  packedProduct,
  packedResult,
  packedRow,
  packedWeights,
} from "../fixtures/packed_reference.ts";

// Products with experts in packed arithmetic: to the bit what their definition gives, whoever shares an expert.

/** Decoded rows are added up over four parts, a prompt's over one. */
const DECODED = { splits: 1, parts: 4 };
const PROMPT = { splits: 1, parts: 1 };

interface Shape {
  readonly types: readonly string[];
  readonly rows: readonly number[];
  readonly columns: number;
  readonly experts: number;
  readonly used: number;
  readonly shared?: boolean;
  readonly inputPerSlot?: boolean;
}

/** An expert_matmul as a program; `run` gives the bits of each token's slots, decoded tokens first. */
function productsOf(
  device: TestDevice,
  shape: Shape,
  chosen: Uint32Array<ArrayBuffer>,
  random: Random,
  arithmetic: number = Arithmetic.packed,
) {
  const { types, rows, columns, experts, used, shared = false, inputPerSlot = false } = shape;
  const most = chosen.length / used;
  const inputsOfToken = inputPerSlot ? used : 1;
  const input = random.floats(most * inputsOfToken * columns);
  const all = experts + (shared ? 1 : 0);
  const weights = types.map((type, i) => {
    const { bytes } = matrixOf(blocksOf(type), all * rows[i], columns, random);
    return { type, rows: rows[i], bytes };
  });
  const width = rows.reduce((a, b) => a + b, 0);
  const two = (values: readonly number[]) => [values[0], values[1] ?? 0];
  const apart: number[] = [];
  const program = device.program({
    ops: [{
      kind: "expert_matmul",
      input: 0,
      experts: 1,
      output: 2,
      n_weights: types.length,
      columns,
      n_used: used,
      n_experts: experts,
      weight: two(weights.map(({ type, rows, bytes }) => {
        const end = bytes.length / all * experts;
        if (shared) apart.push(device.blocks(blocksOf(type).id, bytes.slice(end), rows, columns));
        return device.blocks(blocksOf(type).id, bytes.slice(0, end), rows, columns, experts);
      })),
      shared: apart,
      rows: two(rows),
      output_column: two([0, rows[0]]),
      arithmetic,
    }],
    buffers: [
      inputPerSlot ? expertBuffer(columns, used) : tokenBuffer(columns),
      indexBuffer(used),
      expertBuffer(width, used),
    ],
    limits: { n_tokens: most, n_sequences: most, n_outputs: 1 },
  });
  const run = async (decoded: readonly number[], prompt: readonly number[]) => {
    const tokens = [...decoded, ...prompt];
    const gather = (from: Float32Array | Uint32Array, size: number) =>
      tokens.flatMap((t) => [...from.subarray(t * size, (t + 1) * size)]);
    program.writeBuffer(0, Float32Array.from(gather(input, inputsOfToken * columns)));
    program.writeBuffer(1, Uint32Array.from(gather(chosen, used)));
    await program.step(mixedStep(decoded.length, prompt.length));
    const size = used * width;
    const got = program.readBuffer(2, new Float32Array(tokens.length * size));
    return tokens.map((_, i) => bitsOf(got.slice(i * size, (i + 1) * size)));
  };
  const wanted = (token: number, decoded: boolean) =>
    bitsOf(Float32Array.from(
      range(0, used).flatMap((slot) => {
        const at = inputPerSlot ? token * used + slot : token;
        const row = input.subarray(at * columns, (at + 1) * columns);
        const expert = chosen[token * used + slot];
        return weights.flatMap(({ type, bytes }) => {
          const mine = bytes.subarray(
            bytes.length / all * expert,
            bytes.length / all * (expert + 1),
          );
          const packed = packedRow(row, PACKED_TYPES[type].room);
          return packedWeights(type, mine, columns).map((of) =>
            packedResult(packedProduct(of, packed, decoded ? DECODED : PROMPT))
          );
        });
      }),
    ));
  return { run, wanted };
}

Deno.test("packed products with experts have the bits of their definition, for every type that has them", async () => {
  const random = new Random(41);
  using device = new TestDevice({ threads: 2 });
  for (const type of Object.keys(PACKED_TYPES)) {
    const { blockSize } = PACKED_TYPES[type];
    for (
      const shape of [
        { types: [type], rows: [5], columns: 3 * blockSize, experts: 3, used: 1 },
        { types: [type, type], rows: [4, 6], columns: 256, experts: 2, used: 2 },
        {
          ...{ types: [type], rows: [3], columns: 1024, experts: 4, used: 3, shared: true },
          inputPerSlot: true,
        },
      ]
    ) {
      const chosen = choose(30, shape.experts, shape.used, random, "shared" in shape);
      const { run, wanted } = productsOf(device, shape, chosen, random);
      const got = await run(range(0, 11), range(11, 30));
      got.forEach((bits, t) =>
        assertEquals(bits, wanted(t, t < 11), `${type}, ${shape.columns} columns, token ${t}`)
      );
      // Alone, and with other partners.
      for (const [decoded, prompt] of [[[4], []], [[], [12]], [[9, 2, 7], [20, 13]]]) {
        const some = await run(decoded, prompt);
        const tokens = [...decoded, ...prompt];
        some.forEach((bits, i) => assertEquals(bits, got[tokens[i]], `${type}: in ${tokens}`));
      }
    }
  }
});

Deno.test("experts' weights of other types have exact arithmetic's bits in packed arithmetic, and beside packed ones", async () => {
  using device = new TestDevice({ threads: 2 });
  const shape = { types: ["Q4_K", "Q6_K"], rows: [4, 6], columns: 512, experts: 3, used: 2 };
  const chosen = choose(20, 3, 2, new Random(42));
  const results = [];
  for (const arithmetic of [Arithmetic.packed, Arithmetic.exact]) {
    results.push(
      await productsOf(device, shape, chosen, new Random(43), arithmetic)
        .run(range(0, 9), range(9, 20)),
    );
  }
  const [packed, exact] = results.map((tokens) =>
    tokens.flatMap((bits) => [0, 1].map((slot) => bits.slice(slot * 10, (slot + 1) * 10)))
  );
  packed.forEach((bits, i) => {
    assertEquals(bits.slice(4), exact[i].slice(4), `row ${i}: Q6_K`);
    assertEquals(
      bits.slice(0, 4).some((value, r) => value !== exact[i][r]),
      true,
      "Q4_K is packed",
    );
  });
});
