import { assertEquals } from "@std/assert";
import type { StepSequence } from "../../engine/device/step_block.ts";
import { Activation, NONE } from "../../engine/device/structs.ts";
import {
  expertBuffer,
  indexBuffer,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import { choose, type Part, Products, range } from "../fixtures/expert_products.ts";
import { blocksOf, FACTOR_BLOCKS, type GoldenBlocks, matrixOf } from "../fixtures/golden_blocks.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

// Products of rows with the weights of an expert each: tokens of prompts, which kernels put in groups by their experts, and
// decoded ones. Against float64, and to the bit among whatever other rows.

for (const kind of ["decoded", "prompt"] as const) {
  const tokens = kind === "prompt" ? "a prompt's tokens" : "decoded tokens";
  const part = (indices: number[]): Part => ({ decoded: [], prompt: [], [kind]: indices });

  Deno.test(`expert_matmul, ${tokens}: few experts and many, one or more a token, one that all have, inputs by token and by slot`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(20);
    for (
      const [experts, used, columns, inputGap, shared] of [
        [1, 1, 32, 0, false],
        [2, 1, 64, 4, false],
        [3, 2, 45, 0, false],
        [5, 1, 33, 2, false],
        [8, 8, 32, 0, false],
        [40, 5, 32, 1, false],
        [150, 1, 7, 0, false],
        [1, 2, 32, 0, true],
        [6, 3, 45, 1, true],
        [64, 5, 32, 0, true],
      ] as const
    ) {
      for (const inputPerSlot of [false, true]) {
        const rows = inputPerSlot ? [130] : [5, 132];
        const shape = { experts, used, columns, rows, inputPerSlot, inputGap, shared };
        const chosen = choose(70, experts, used, random, shared);
        const products = new Products(device, shape, chosen, random);
        for (const n of [1, 2, 33, 70]) {
          const what = `${experts} experts${shared ? " and one" : ""}, ${used} used, ${n} tokens`;
          const results = await products.run(part(range(0, n)));
          results.forEach((bits, token) => products.check(token, bits, what));
        }
      }
    }
  });

  Deno.test(`expert_matmul, ${tokens}: weights of every tensor type, and two of different types`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(21);
    const columns = (a: GoldenBlocks) => a.blockSize === 1 ? 40 : a.blockSize === 32 ? 96 : 256;
    const [q4, q6] = ["Q4_K", "Q6_K"].map(blocksOf);
    const cases = [...FACTOR_BLOCKS.map((blocks) => [blocks]), [q4, q6]];
    for (const types of cases) {
      // Groups of some 50 rows and of some 5.
      for (const experts of [2, 20]) {
        const shared = experts === 20;
        const used = shared ? 2 : 1;
        const shape = {
          experts,
          used,
          shared,
          columns: columns(types[0]),
          rows: types.map((_, i) => 6 + i),
          types,
        };
        const chosen = choose(100, experts, used, random, shared);
        const products = new Products(device, shape, chosen, random);
        const results = await products.run(part(range(0, 100)));
        const what = types.map(({ type }) => type).join(" and ");
        results.forEach((bits, token) => products.check(token, bits, what));
      }
    }
  });
}

Deno.test("expert_matmul, prompts of 1 to 130 tokens: every row is its own expert's, and the same to the bit in all of them", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(22);
  const shape = { experts: 2, used: 1, columns: 32, rows: [9] };
  const products = new Products(device, shape, choose(130, 2, 1, random), random);
  const all = await products.run({ decoded: [], prompt: range(0, 130) });
  all.forEach((bits, token) => products.check(token, bits, "130 tokens"));
  for (let n = 1; n < 130; n++) {
    const some = await products.run({ decoded: [], prompt: range(130 - n, 130) });
    some.forEach((bits, i) => assertEquals(bits, all[130 - n + i], `token ${i} of ${n}`));
  }
});

Deno.test("expert_matmul: all of a prompt's rows go to one expert, or none to some", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(23);
  const tokens = 129;
  const wish: Record<string, (token: number) => number[]> = {
    "the first": () => [0],
    "the last": () => [4],
    "one between": () => [2],
    "all but the first and the last": (t) => [1 + t % 3],
    "the first and the last": (t) => [t % 2 * 4],
    "one row to the last": (t) => [t === 64 ? 4 : 1],
    "two a token, always the same": () => [3, 1],
    "all five, the other way round": () => [4, 3, 2, 1, 0],
    "one expert twice": () => [2, 2],
  };
  for (const [what, of] of Object.entries(wish)) {
    const chosen = Uint32Array.from(range(0, tokens).flatMap(of));
    const shape = { experts: 5, used: chosen.length / tokens, columns: 32, rows: [7] };
    const products = new Products(device, shape, chosen, random);
    for (const n of [1, 31, 32, 64, 65, 128, tokens]) {
      const results = await products.run({ decoded: [], prompt: range(0, n) });
      results.forEach((bits, token) => products.check(token, bits, `${what}, ${n} tokens`));
    }
  }
});

const CUTS = [[1, 129], [32, 32, 32, 34], [64, 66], [100, 30], [7, 1, 50, 2, 70], [31, 33, 65, 1]];

for (
  const [type, input] of [["F32", "slot"], ["F16", "token"], ["Q8_0", "slot"], ["Q4_K", "token"], [
    "IQ1_M",
    "slot",
  ], ["MXFP4", "token"]]
) {
  const inputPerSlot = input === "slot";
  Deno.test(`expert_matmul, ${type}, inputs by ${input}: a prompt has the same bits however it is cut`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(24);
    const blocks = blocksOf(type);
    const columns = blocks.blockSize === 256 ? 256 : 96;
    // Groups of 87 rows on average, and of 6; of 130 and 32.
    for (const [experts, shared] of [[3, false], [40, false], [4, true]] as const) {
      const chosen = choose(130, experts, 2, random, shared);
      const rows = [20];
      const shape = { experts, used: 2, shared, columns, rows, types: [blocks], inputPerSlot };
      const products = new Products(device, shape, chosen, random);
      const whole = await products.run({ decoded: [], prompt: range(0, 130) });
      for (const cut of CUTS) {
        let first = 0;
        for (const n of cut) {
          const prompt = range(first, first += n);
          const results = await products.run({ decoded: [], prompt });
          results.forEach((bits, i) =>
            assertEquals(bits, whole[prompt[i]], `token ${prompt[i]}, cut ${cut}`)
          );
        }
      }
      const backwards = await products.run({ decoded: [], prompt: range(0, 130).reverse() });
      assertEquals(backwards.reverse(), whole, "the last token first");
    }
  });

  Deno.test(`expert_matmul, ${type}, inputs by ${input}: decoded tokens and prompts have the bits that they have alone`, async () => {
    using device = new TestDevice({ threads: 2 });
    const random = new Random(25);
    const blocks = blocksOf(type);
    const columns = blocks.blockSize === 256 ? 256 : 96;
    // Of every second type with an expert that all tokens have.
    const shared = type.length % 2 === 0;
    const chosen = choose(100, 4, 2, random, shared);
    const shape = {
      experts: 4,
      used: 2,
      shared,
      columns,
      rows: [36, 20],
      types: [blocks, blocks],
      inputPerSlot,
    };
    const products = new Products(device, shape, chosen, random);
    const alone: Uint32Array<ArrayBuffer>[] = [];
    for (let t = 0; t < 20; t++) {
      alone.push(...await products.run({ decoded: [t], prompt: [] }));
    }
    alone.forEach((bits, token) => products.check(token, bits, "decoded"));
    const prompt = range(20, 100);
    const wanted = await products.run({ decoded: [], prompt });
    wanted.forEach((bits, i) => products.check(prompt[i], bits, "prompt"));
    for (const [n, from, to] of [[1, 20, 100], [5, 20, 21], [20, 20, 100], [3, 50, 91]]) {
      const decoded = range(20 - n, 20);
      const results = await products.run({ decoded, prompt: range(from, to) });
      decoded.forEach((token, i) => assertEquals(results[i], alone[token], `decoded ${token}`));
      range(from, to).forEach((token, i) =>
        assertEquals(results[n + i], wanted[token - 20], `prompt's token ${token}`)
      );
    }
    const batch = await products.run({ decoded: range(0, 20), prompt: [] });
    assertEquals(batch, alone, "decoded together");
  });
}

Deno.test("gate, up and their activation: the same bits in one program as in one each, for one decoded token, for some that share experts, and with a prompt in the step", async () => {
  using device = new TestDevice({ threads: 2 });
  const random = new Random(26);
  const [experts, used, columns, inner, most] = [5, 2, 64, 70, 12];
  const cases = [["F32", "silu"], ["Q8_0", "gelu_tanh"], ["Q4_0", "swiglu_clamped"]] as const;
  for (const [type, name] of cases) {
    const blocks = blocksOf(type);
    const weight = [0, 1].map(() =>
      device.blocks(
        blocks.id,
        matrixOf(blocks, experts * inner, columns, random).bytes,
        inner,
        columns,
        experts,
      )
    );
    const bias = [device.tensor(random.floats(experts * inner), 1, 1, experts * inner), NONE];
    const product: GivenOperation = {
      kind: "expert_matmul",
      input: 0,
      experts: 1,
      output: 2,
      n_weights: 2,
      columns,
      n_used: used,
      n_experts: experts,
      weight,
      bias,
      rows: [inner, inner],
    };
    const activation: GivenOperation = {
      kind: "activation",
      input: 2,
      output: 3,
      activation: Activation[name],
      gated: 1,
      alpha: 1.7,
      limit: 0.5,
      columns: inner,
    };
    const buffers = [
      tokenBuffer(columns),
      indexBuffer(used),
      expertBuffer(2 * inner, used),
      expertBuffer(inner, used),
    ];
    const limits = { n_tokens: most, n_sequences: most, n_outputs: 1 };
    const make = (ops: GivenOperation[]) => device.program({ ops, buffers, limits });
    const both = make([product, activation]);
    const [alone, after] = [make([product]), make([activation])];
    const input = random.floats(most * columns);
    const chosen = choose(most, experts, used, random);
    for (const [decoded, prompt] of [[1, 0], [2, 0], [3, 0], [most, 0], [4, 5], [0, 7]]) {
      const n = decoded + prompt;
      const step: StepSequence[] = range(0, decoded).map(() => ({
        tokens: [0],
        position: 0,
        kvBlocks: [],
        outputs: [],
        decode: true,
      }));
      if (prompt > 0) {
        step.push({ tokens: new Array(prompt).fill(0), position: 0, kvBlocks: [], outputs: [] });
      }
      for (const program of [both, alone]) {
        program.writeBuffer(0, input.slice(0, n * columns));
        program.writeBuffer(1, chosen.slice(0, n * used));
        await program.step(step);
      }
      after.writeBuffer(2, alone.readBuffer(2, new Float32Array(n * used * 2 * inner)));
      await after.step(step);
      const [got, wanted] = [both, after].map((program) =>
        new Uint32Array(program.readBuffer(3, new Float32Array(n * used * inner)).buffer)
      );
      assertEquals(got, wanted, `${type}, ${decoded} decoded tokens and ${prompt} of a prompt`);
    }
  }
});
