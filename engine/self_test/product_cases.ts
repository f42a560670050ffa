import { Arithmetic, NONE } from "../device/mod.ts";
import { GGML_TYPES, type TensorType } from "../gguf/mod.ts";
import { PACKED_TYPES } from "../program/mod.ts";
import type { Case, Sizes } from "./case.ts";
import { oneRun } from "./one_run.ts";
import { decoded, prompt, type Runner } from "./runner.ts";
import { expertBuffer, indexBuffer, tokenBuffer } from "./small_programs.ts";

const TYPES = Object.values(GGML_TYPES).filter(({ supported }) => supported);

/** Experts, and those of a token. */
const EXPERTS = 4;
const USED = 2;

/** Products with weights of every tensor type, each way in which kernels take tokens, and what reads single rows. */
export function productCases(sizes: Sizes): Case[] {
  return [
    ...TYPES.flatMap((type) => [
      matmul(type, 1, true, sizes),
      ...[3, 8, 32].map((tokens) => matmul(type, tokens, true, shared(sizes))),
      matmul(type, sizes.tokens, false, sizes),
      experts(type, 1, true, sizes),
      experts(type, sizes.tokens, false, sizes),
      embed(type, sizes),
      rows(type, sizes),
    ]),
    ...TYPES.filter(({ name }) => PACKED_TYPES.includes(name)).flatMap((type) => [
      ...[1, 2, 3, 8, 16].map((tokens) => matmul(type, tokens, true, sizes, Arithmetic.packed)),
      matmul(type, sizes.tokens, false, sizes, Arithmetic.packed),
      experts(type, 1, true, sizes, Arithmetic.packed),
      experts(type, sizes.tokens, true, sizes, Arithmetic.packed),
      experts(type, sizes.tokens, false, sizes, Arithmetic.packed),
    ]),
    several(sizes),
    normed(sizes),
    heads(1, true),
    heads(sizes.tokens, false),
  ];
}

/** With so many rows that decoded tokens share thread blocks, and fewer columns for it. */
function shared({ columns, rowsForAll, ...others }: Sizes): Sizes {
  return { ...others, rowsForAll, rows: rowsForAll, columns: Math.min(columns, 1024) };
}

function howMany(tokens: number, decode: boolean): string {
  return decode ? `${tokens} decoded token${tokens === 1 ? "" : "s"}` : "a prompt";
}

const named = (arithmetic: number) => arithmetic === Arithmetic.packed ? ", packed" : "";

function matmul(
  type: TensorType,
  tokens: number,
  decode: boolean,
  sizes: Sizes,
  arithmetic: number = Arithmetic.exact,
): Case {
  const { rows, columns } = sizes;
  const variant = `${type.name}, ${howMany(tokens, decode)}${named(arithmetic)}`;
  return oneRun("matmul", variant, (runner) => {
    const weight = [runner.weights(type, rows, columns)];
    return {
      ops: [{ kind: "matmul", input: 0, output: 1, columns, weight, rows: [rows], arithmetic }],
      buffers: [tokenBuffer(columns), tokenBuffer(rows)],
      sequences: decode ? decoded(tokens) : prompt(tokens),
    };
  });
}

/** Three weights of two types in one operation, with biases. */
function several({ rows, columns }: Sizes): Case {
  return oneRun("matmul", "three weights of Q4_K and Q6_K with biases", (runner) => {
    const types = [12, 12, 14].map((id) => GGML_TYPES[id]);
    const weight = types.map((type) => runner.weights(type, rows, columns));
    const bias = types.map(() => runner.floats(1, rows));
    return {
      ops: [{
        ...{ kind: "matmul", input: 0, output: 1, columns, weight, bias },
        ...{ factor: [NONE, NONE, NONE], rows: [rows, rows, rows] },
      }],
      buffers: [tokenBuffer(columns), tokenBuffer(3 * rows)],
      sequences: decoded(2),
    };
  });
}

/** A norm and the product after it, which one kernel may compute. */
function normed({ rows, columns }: Sizes): Case {
  return oneRun("matmul", "after a norm", (runner) => {
    const weight = runner.floats(1, columns);
    const matrix = runner.weights(GGML_TYPES[12], rows, columns);
    return {
      ops: [
        { kind: "norm", input: 0, output: 1, weight, norm: 0, columns, epsilon: 1e-5 },
        { kind: "matmul", input: 1, output: 2, columns, weight: [matrix], rows: [rows] },
      ],
      buffers: [columns, columns, rows].map(tokenBuffer),
      sequences: decoded(1),
    };
  });
}

function experts(
  type: TensorType,
  tokens: number,
  decode: boolean,
  sizes: Sizes,
  arithmetic: number = Arithmetic.exact,
): Case {
  const rows = Math.ceil(sizes.rows / 4);
  const { columns } = sizes;
  const variant = `${type.name}, ${howMany(tokens, decode)}${named(arithmetic)}`;
  return oneRun("expert_matmul", variant, (runner) => {
    const weight = [runner.weights(type, rows, columns, EXPERTS)];
    const chosen = Uint32Array.from({ length: tokens }, () => runner.random.below(EXPERTS));
    // Two experts of a token are never one.
    const two = Uint32Array.from(
      { length: tokens * USED },
      (_, i) => (chosen[i >> 1] + (i & 1)) % EXPERTS,
    );
    return {
      ops: [{
        ...{ kind: "expert_matmul", input: 0, experts: 1, output: 2, columns },
        ...{ n_used: USED, n_experts: EXPERTS, weight, rows: [rows], arithmetic },
      }],
      buffers: [tokenBuffer(columns), indexBuffer(USED), expertBuffer(rows, USED)],
      inputs: { 1: two },
      sequences: decode ? decoded(tokens) : prompt(tokens),
    };
  });
}

function embed(type: TensorType, { columns }: Sizes): Case {
  return oneRun("embed", type.name, (runner) => {
    const table = runner.weights(type, 32, columns);
    return {
      ops: [{ kind: "embed", output: 0, table, columns, scale: 1.5 }],
      buffers: [tokenBuffer(columns)],
      sequences: prompt(7),
    };
  });
}

/** How weights are laid out for the kernels, and read back. */
function rows(type: TensorType, { columns }: Sizes): Case {
  return {
    operation: "embed",
    variant: `${type.name}, rows read back`,
    compute: (runner: Runner) =>
      Promise.resolve(runner.read(runner.weights(type, 9, columns), 9, columns)),
  };
}

function heads(tokens: number, decode: boolean): Case {
  const [n_heads, columns, rows, copied] = [3, 64, 32, 16];
  const [input_stride, output_stride] = [columns + copied, rows + copied];
  return oneRun("head_matmul", howMany(tokens, decode), (runner) => {
    const weight = runner.weights(GGML_TYPES[8], rows, columns, n_heads);
    return {
      ops: [{
        ...{ kind: "head_matmul", input: 0, output: 1, weight, n_heads, columns, rows, copied },
        ...{ input_stride, output_stride },
      }],
      buffers: [tokenBuffer(n_heads * input_stride), tokenBuffer(n_heads * output_stride)],
      sequences: decode ? decoded(tokens) : prompt(tokens),
    };
  });
}
