import { assertEquals } from "@std/assert";
import type { BufferDesc } from "../../engine/device/descriptions.ts";
import { Activation, NONE, Norm } from "../../engine/device/structs.ts";
import {
  assertClose,
  bitsOf,
  everyWay,
  expertBuffer,
  indexBuffer,
  Random,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";
import type { GivenOperation } from "../fixtures/operations.ts";

// The next operation may compute an operation that has no other reader (cuda/gpu/fusion.cu). Pairs with every
// combination of arguments are computed as they are, and with a third operation that reads the value between them. The
// results have to be the same.

const CASES = 40;
const ACTIVATIONS = Object.values(Activation);

/** Two operations: buffer 0 is the first one's input, 1 is between them, 2 the output. */
interface Pair {
  readonly ops: GivenOperation[];
  readonly buffers: BufferDesc[];
  readonly inputs: Record<number, Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>;
}

class Choices {
  readonly random: Random;

  constructor(private readonly device: TestDevice, seed: number) {
    this.random = new Random(seed);
  }

  of<T>(...values: T[]): T {
    return values[this.random.below(values.length)];
  }

  /** A weight, or none, more often. */
  vector(columns: number): number {
    return this.of(true, false, false) ? this.tensor(columns) : NONE;
  }

  tensor(...shape: number[]): number {
    const n = shape.reduce((a, b) => a * b);
    return this.device.tensor(this.random.floats(n, shape.length > 1 ? 0.1 : 1), ...shape);
  }
}

/** A product of buffer 1, with any other as a residual. */
function product(choices: Choices, columns: number): GivenOperation {
  const rows = choices.of([48], [48], [16, 20], [16, 16, 16]);
  return {
    kind: "matmul",
    input: 1,
    output: 2,
    residual: rows.length === 1 ? choices.of(NONE, 0, 2, 3) : NONE,
    columns,
    scale: choices.of(1, 1, -0.5),
    weight: rows.map((n) => choices.tensor(n, columns)),
    bias: rows.map((n) => choices.vector(n)),
    factor: rows.map(() => choices.vector(1)),
    rows,
  };
}

const WIDTH = 80;

function tokensOf(choices: Choices, tokens: number, buffers: number[]): Pair["inputs"] {
  return Object.fromEntries(
    buffers.map((buffer) => [buffer, choices.random.floats(tokens * WIDTH)]),
  );
}

/** An expert for each slot; the last of a token's is the shared one, where there is one. */
function slotsOf(
  tokens: number,
  used: number,
  experts: number,
  shared: boolean,
): Uint32Array<ArrayBuffer> {
  return Uint32Array.from(
    { length: tokens * used },
    (_, i) => shared && i % used === used - 1 ? experts : (i * 3 + (i >> 2)) % experts,
  );
}

const PAIRS: Record<string, (choices: Choices, tokens: number) => Pair> = {
  "a norm and the product of its output": (choices, tokens) => {
    const n_groups = choices.of(1, 1, 2);
    const columns = 64 / n_groups;
    const perGroup = choices.of(0, 1);
    const weights = perGroup ? 64 : columns;
    const from = choices.of(0, 0, 8);
    return {
      ops: [
        {
          kind: "norm",
          input: 0,
          output: 1,
          weight: choices.of(choices.tensor(weights), NONE),
          bias: choices.vector(weights),
          residual: choices.of(NONE, NONE, 3),
          factor: choices.vector(1),
          norm: choices.of(Norm.rms, Norm.rms, Norm.layer),
          columns,
          n_groups,
          weight_per_group: perGroup,
          input_column: from,
          output_column: choices.of(0, from),
          epsilon: 1e-5,
        },
        product(choices, 64),
      ],
      buffers: [0, 1, 2, 3].map(() => tokenBuffer(WIDTH)),
      inputs: tokensOf(choices, tokens, [0, 1, 2, 3]),
    };
  },
  "an activation and the product of its output": (choices, tokens) => {
    const activation = choices.of(...ACTIVATIONS);
    const gated = activation === Activation.swiglu_clamped ? 1 : choices.of(0, 1, 1);
    const columns = 32;
    return {
      ops: [
        {
          kind: "activation",
          input: 0,
          up: gated ? choices.of(0, 0, 3) : NONE,
          output: 1,
          activation,
          gated,
          columns,
          up_column: gated ? choices.of(columns, columns, 0, 40) : 0,
          alpha: 1.7,
          limit: 0.8,
        },
        product(choices, columns),
      ],
      buffers: [0, 1, 2, 3].map(() => tokenBuffer(WIDTH)),
      inputs: tokensOf(choices, tokens, [0, 1, 2, 3]),
    };
  },
  "products of experts and their gated activation": (choices, tokens) => {
    const [experts, n_used, columns] = [4, 2, 32];
    const shared = choices.of(true, false);
    const rows = choices.of([24, 24], [24, 24], [24, 40], [40, 24], [24, 16]);
    const starts = choices.of([0, rows[0]], [0, rows[0]], [rows[1], 0], [0, rows[0] + 4]);
    return {
      ops: [
        {
          kind: "expert_matmul",
          input: 0,
          experts: 3,
          output: 1,
          weights: choices.of(NONE, NONE, 4),
          columns,
          n_used,
          n_experts: experts,
          weight: rows.map((n) => choices.tensor(experts, n, columns)),
          shared: shared ? rows.map((n) => choices.tensor(n, columns)) : [],
          bias: rows.map((n) => shared ? NONE : choices.vector(experts * n)),
          factor: rows.map(() => shared ? NONE : choices.vector(experts)),
          rows,
          output_column: starts,
        },
        {
          kind: "activation",
          input: 1,
          up: 1,
          output: 2,
          activation: choices.of(...ACTIVATIONS),
          gated: 1,
          columns: 24,
          up_column: choices.of(starts[1], starts[1], 24),
          alpha: 1.7,
          limit: 0.8,
        },
      ],
      buffers: [
        choices.of(tokenBuffer(columns), expertBuffer(columns, n_used)),
        expertBuffer(WIDTH, n_used),
        expertBuffer(WIDTH, n_used),
        indexBuffer(n_used),
        tokenBuffer(n_used),
      ],
      inputs: {
        0: choices.random.floats(tokens * columns * n_used),
        1: choices.random.floats(tokens * WIDTH * n_used),
        2: choices.random.floats(tokens * WIDTH * n_used),
        3: slotsOf(tokens, n_used, experts, shared),
        4: choices.random.floats(tokens * n_used),
      },
    };
  },
  "a product of experts and the sum of each token's slots": (choices, tokens) => {
    const [experts, n_used, columns] = [6, choices.of(1, 2, 5), 32];
    const shared = choices.of(true, false);
    const rows = choices.of(70, 24);
    return {
      ops: [
        {
          kind: "expert_matmul",
          input: 0,
          experts: 3,
          output: 1,
          weights: choices.of(NONE, NONE, 4),
          columns,
          n_used,
          n_experts: experts,
          weight: [choices.tensor(experts, rows, columns)],
          shared: shared ? [choices.tensor(rows, columns)] : [],
          bias: [shared ? NONE : choices.vector(experts * rows)],
          factor: [shared ? NONE : choices.vector(experts)],
          rows: [rows],
          output_column: [choices.of(0, 0, 0, 4)],
        },
        {
          kind: "expert_sum",
          input: 1,
          weights: choices.of(NONE, 4, 4),
          residual: choices.of(NONE, 2, 2, 5),
          output: 2,
          columns: choices.of(rows, rows, rows, 20),
          n_used,
          scale: choices.of(1, 1, -0.5),
        },
      ],
      buffers: [
        choices.of(tokenBuffer(columns), expertBuffer(columns, n_used)),
        expertBuffer(WIDTH, n_used),
        tokenBuffer(WIDTH),
        indexBuffer(n_used),
        tokenBuffer(n_used),
        tokenBuffer(WIDTH),
      ],
      inputs: {
        0: choices.random.floats(tokens * columns * n_used),
        1: choices.random.floats(tokens * WIDTH * n_used),
        3: slotsOf(tokens, n_used, experts, shared),
        4: choices.random.floats(tokens * n_used),
        ...tokensOf(choices, tokens, [2, 5]),
      },
    };
  },
};

for (const [name, make] of Object.entries(PAIRS)) {
  Deno.test(`${name}: the same whether or not what is between them is read again`, async () => {
    for (let seed = 0; seed < CASES; seed++) {
      using device = new TestDevice({ threads: 2 });
      const choices = new Choices(device, 700 + seed);
      const tokens = choices.of(1, 3, 9, 40);
      const { ops, buffers, inputs } = make(choices, tokens);
      // An input of a row a token has the first values alone.
      const first = tokens * buffers[0].columns * buffers[0].rows_factor;
      const given = { ...inputs, 0: inputs[0].slice(0, first) };
      const reader: GivenOperation = {
        kind: "add",
        a: 1,
        b: 1,
        output: buffers.length,
        columns: WIDTH,
      };
      const alone = await everyWay(device, { ops, buffers }, tokens, given, 2);
      const read = await everyWay(
        device,
        { ops: [...ops, reader], buffers: [...buffers, { ...buffers[1] }] },
        tokens,
        given,
        2,
      );
      // What the third one reads has the bits of each token by itself, too.
      await everyWay(
        device,
        { ops: [...ops, reader], buffers: [...buffers, { ...buffers[1] }] },
        tokens,
        given,
        buffers.length,
      );
      alone.forEach((got, way) => {
        const what = `seed ${seed}: ${JSON.stringify(ops)}`;
        try {
          assertClose(got, read[way], 1e-5);
        } catch (error) {
          throw new Error(what, { cause: error });
        }
      });
    }
  });
}

/**
 * A norm of groups and the multiplication by an activation of other columns, in either order; every second one plain.
 */
function gatedNorm(choices: Choices): GivenOperation[] {
  const plain = choices.of(true, false);
  const orElse = <T>(usual: T, ...others: T[]) => plain ? usual : choices.of(usual, ...others);
  const n_groups = choices.of(1, 2, 4);
  const columns = choices.of(8, 12, 15);
  const weight_per_group = choices.of(0, 1);
  const weights = columns * (weight_per_group ? n_groups : 1);
  const column = orElse(0, 4);
  const normFirst = choices.of(true, false);
  const norm: GivenOperation = {
    kind: "norm",
    input: normFirst ? choices.of(0, 1) : orElse(1, 0),
    output: orElse(1, 2),
    weight: choices.of(choices.tensor(weights), NONE),
    bias: choices.vector(weights),
    residual: orElse(NONE, 3),
    factor: orElse(NONE, choices.tensor(1)),
    norm: orElse<number>(Norm.rms, Norm.layer),
    columns,
    n_groups,
    weight_per_group,
    input_column: column,
    output_column: column,
    epsilon: 1e-5,
  };
  const [up, gated] = orElse([1, 1], [1, 2], [0, 1]);
  const gate: GivenOperation = {
    kind: "activation",
    input: plain ? choices.of(0, 3) : choices.of(0, 1, 3),
    up,
    output: gated,
    activation: orElse<number>(Activation.silu, Activation.sigmoid),
    gated: 1,
    columns: orElse(columns * n_groups, columns),
    up_column: up === gated ? 0 : choices.of(0, 4),
  };
  return normFirst ? [norm, gate] : [gate, norm];
}

Deno.test("a norm and the gate before or after it: the same bits whether or not something is done between them", async () => {
  for (let seed = 0; seed < CASES; seed++) {
    using device = new TestDevice({ threads: 2 });
    const choices = new Choices(device, 900 + seed);
    const tokens = choices.of(1, 3, 9);
    const [first, second] = gatedNorm(choices);
    const between: GivenOperation = { kind: "add", a: 4, b: 4, output: 4, columns: WIDTH };
    const buffers = [0, 1, 2, 3, 4].map(() => tokenBuffer(WIDTH));
    const inputs = tokensOf(choices, tokens, [0, 1, 2, 3, 4]);
    for (const output of [1, 2]) {
      const bitsWith = async (ops: GivenOperation[]) =>
        (await everyWay(device, { ops, buffers }, tokens, inputs, output)).map(bitsOf);
      const what = `seed ${seed}: ${JSON.stringify([first, second])}`;
      assertEquals(await bitsWith([first, second]), await bitsWith([first, between, second]), what);
    }
  }
});
