import { NONE, type OPS } from "../device/mod.ts";
import type { Operation } from "./operation.ts";

type Ops = typeof OPS;

/** What an operation does to a buffer: reads it, writes to it (which may leave some of it as it was), or both. */
export type Access = "reads" | "writes" | "updates";

/** Which fields of an operation are buffers; a test compares them with the library's description. */
export const BUFFER_FIELDS: { readonly [K in keyof Ops]: Readonly<Record<string, Access>> } = {
  embed: { output: "writes" },
  norm: { input: "reads", output: "writes", residual: "reads" },
  matmul: { input: "reads", output: "writes", residual: "reads" },
  rope_store: { q: "updates", kv: "reads" },
  attention: { q: "reads", output: "writes" },
  activation: { input: "reads", up: "reads", output: "writes" },
  add: { a: "reads", b: "reads", gate: "reads", output: "writes" },
  select: { input: "reads", output: "writes" },
  softcap: { input: "reads", output: "writes" },
  route: { input: "reads", experts: "writes", weights: "writes" },
  expert_matmul: { input: "reads", experts: "reads", output: "writes", weights: "reads" },
  expert_sum: { input: "reads", weights: "reads", residual: "reads", output: "writes" },
  sample: { logits: "reads", hidden: "reads" },
  head_matmul: { input: "reads", output: "writes" },
  conv: { input: "reads", output: "writes" },
  delta_rule: { qkv: "reads", gates: "reads", output: "writes" },
  selective_scan: { input: "reads", steps: "reads", output: "writes" },
  copy: { input: "reads", output: "writes" },
  exchange: { input: "reads", output: "writes" },
};

/** The buffers of an operation, and what it does to each. */
export function buffersOf(operation: Operation): { buffer: number; access: Access }[] {
  const values = operation as unknown as Record<string, number>;
  return Object.entries(BUFFER_FIELDS[operation.kind])
    .map(([field, access]) => ({ buffer: values[field], access }))
    .filter(({ buffer }) => buffer !== NONE);
}
