import { Arithmetic as Codes } from "../device/mod.ts";
import type { Program } from "./program.ts";

/**
 * How products with quantised weights are computed. "exact": in FP32. "packed": of weights of up to 4 bits, the
 * activations are rounded to integers of some 8 bits, see docs/kernels/matmul.md.
 */
export type Arithmetic = keyof typeof Codes;

/** All of them, the default first. */
export const ARITHMETICS = Object.keys(Codes) as readonly Arithmetic[];

/** The program with its products in that arithmetic; embeddings, attention and the products of heads stay exact. */
export function withArithmetic(program: Program, arithmetic: Arithmetic): Program {
  const operations = program.operations.map((operation) =>
    operation.kind === "matmul" || operation.kind === "expert_matmul"
      ? { ...operation, arithmetic: Codes[arithmetic] }
      : operation
  );
  return { ...program, operations };
}
