import { Arithmetic as Codes } from "../device/mod.ts";
import type { Program } from "./program.ts";

/**
 * How products with quantised weights are computed. "exact": in FP32. "packed": of weights of up to 4 bits, the
 * activations are rounded to integers of some 8 bits, see docs/kernels/matmul.md.
 */
export type Arithmetic = keyof typeof Codes;

/** All of them, the default first. */
export const ARITHMETICS = Object.keys(Codes) as readonly Arithmetic[];

/** The tensor types whose products packed arithmetic changes; the libraries choose by the same list. */
export const PACKED_TYPES: readonly string[] = [
  ...["Q4_0", "Q4_1", "Q2_K", "Q3_K", "Q4_K", "TQ1_0", "TQ2_0", "MXFP4"],
];

/** What of an arithmetic a program can have: "exact" where none of its products is with one of {@link PACKED_TYPES}. */
export function possibleArithmetic(program: Program, wanted: Arithmetic): Arithmetic {
  const packs = program.operations.some((operation) =>
    (operation.kind === "matmul" || operation.kind === "expert_matmul") &&
    operation.weight.some((weight) => {
      const { tensor } = program.weights[weight] ?? {};
      return tensor !== undefined && PACKED_TYPES.includes(tensor.type.name);
    })
  );
  return packs ? wanted : "exact";
}

/**
 * The program with its products in that arithmetic, as far as it is possible; embeddings, attention and the products of
 * heads stay exact.
 */
export function withArithmetic(program: Program, wanted: Arithmetic): Program {
  const arithmetic = Codes[possibleArithmetic(program, wanted)];
  const operations = program.operations.map((operation) =>
    operation.kind === "matmul" || operation.kind === "expert_matmul"
      ? { ...operation, arithmetic }
      : operation
  );
  return { ...program, operations };
}
