import { NONE, Rows } from "../device/structs.ts";
import { type Operation, WEIGHT_FIELDS } from "./operation.ts";
import type { Program } from "./program.ts";

/** What a step of a program has to do. */
export interface StepSize {
  /** Tokens that it computes. */
  readonly tokens: number;
  /** Tokens whose logits it computes. */
  readonly outputs: number;
  /** Sequences that they are of. */
  readonly sequences: number;
  /** Positions that a token sees on average, where no window hides them. */
  readonly attended: number;
  /** Bytes of a value in the KV cache. */
  readonly kvValueBytes: number;
}

/** Bytes of a value of a key or value in the cache, its share of a scale included. */
export const KV_VALUE_BYTES = { f16: 2, f32: 4, q8_0: 34 / 32 };

/** What a step reads and computes, at the least. */
export interface StepWork {
  /** Weights, in the file's own types, and keys and values, each read once; states, read and written. */
  readonly bytes: number;
  /** Multiplications and additions. */
  readonly flop: number;
}

/**
 * The work of a step, out of the program's operations. Of experts, those count that tokens choose if every
 * choice is as likely as any other; of embeddings a row a token.
 */
export function stepWork(program: Program, size: StepSize): StepWork {
  const latent = latentLayers(program.operations);
  let bytes = 0;
  let flop = 0;
  for (const operation of program.operations) {
    for (const weight of weightsOf(operation)) {
      const { tensor } = program.weights[weight];
      bytes += tensor.bytes * readShare(operation, weight, tensor.shape, size.tokens);
    }
    switch (operation.kind) {
      case "matmul": {
        const ofOutputs = program.buffers[operation.output].rows === Rows.outputs;
        const tokens = ofOutputs ? size.outputs : size.tokens;
        flop += 2 * sum(operation.rows) * operation.columns * tokens;
        break;
      }
      case "head_matmul":
        flop += 2 * operation.n_heads * operation.rows * operation.columns * size.tokens;
        break;
      case "expert_matmul":
        flop += 2 * sum(operation.rows) * operation.columns * operation.n_used * size.tokens;
        break;
      case "attention": {
        const { n_heads, n_kv_heads, head_dim, value_dim, window, chunk } = operation;
        // A chunk is half full on average.
        const attended = Math.min(size.attended, window || Infinity, chunk / 2 || Infinity);
        const values = latent.has(operation.layer) ? head_dim : head_dim + value_dim;
        bytes += size.sequences * attended * n_kv_heads * values * size.kvValueBytes;
        flop += 2 * size.tokens * attended * n_heads * (head_dim + value_dim);
        break;
      }
      case "conv":
        flop += 2 * operation.kernel * operation.columns * size.tokens;
        break;
      case "delta_rule":
        // A state's value decays, is looked up, learns and is looked up.
        flop += 7 * program.states[operation.state] * size.tokens;
        break;
      case "selective_scan":
        // It decays, learns and is looked up.
        flop += 5 * program.states[operation.state] * size.tokens;
        break;
    }
  }
  bytes += 2 * size.sequences * sum(program.states) * Float32Array.BYTES_PER_ELEMENT;
  return { bytes, flop };
}

/** The weights that an operation names, as indices into the program's. */
function weightsOf(operation: Operation): number[] {
  const values = operation as unknown as Record<string, number | readonly number[]>;
  return (WEIGHT_FIELDS[operation.kind] ?? []).flatMap((field) => values[field])
    .filter((weight) => weight !== NONE);
}

/** Which part of a weight a step of so many tokens reads. */
function readShare(
  operation: Operation,
  weight: number,
  shape: readonly number[],
  tokens: number,
): number {
  if (operation.kind === "embed") return tokens / (shape[1] ?? 1);
  if (operation.kind !== "expert_matmul" || operation.shared.includes(weight)) return 1;
  const chosen = operation.n_used - operation.n_shared;
  return 1 - (1 - chosen / operation.n_experts) ** tokens;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** The layers of the cache whose values are a part of their keys. */
function latentLayers(operations: readonly Operation[]): Set<number> {
  const layers = new Set<number>();
  for (const operation of operations) {
    if (operation.kind !== "rope_store" || operation.kv === NONE) continue;
    if (operation.v_column === NONE) layers.add(operation.layer);
  }
  return layers;
}
