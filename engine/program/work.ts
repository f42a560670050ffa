import { NONE } from "../device/structs.ts";
import type { Operation } from "./operation.ts";
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

/** What a step reads and computes, at the least. */
export interface StepWork {
  /** Weights, in the file's own types, and keys and values, each read once. */
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
  const read = (weights: number | readonly number[], share = 1) => {
    for (const weight of typeof weights === "number" ? [weights] : weights) {
      if (weight !== NONE) bytes += share * program.weights[weight].tensor.bytes;
    }
  };
  for (const operation of program.operations) {
    switch (operation.kind) {
      case "embed": {
        const { tensor } = program.weights[operation.table];
        bytes += size.tokens * tensor.bytes / (tensor.shape[1] ?? 1);
        break;
      }
      case "matmul": {
        const rows = operation.rows.slice(0, operation.n_weights).reduce((sum, n) => sum + n, 0);
        const ofOutputs = program.buffers[operation.output].rows === 1;
        read(operation.weight);
        flop += 2 * rows * operation.columns * (ofOutputs ? size.outputs : size.tokens);
        break;
      }
      case "head_matmul":
        read(operation.weight);
        flop += 2 * operation.n_heads * operation.rows * operation.columns * size.tokens;
        break;
      case "expert_matmul": {
        const rows = operation.rows.slice(0, operation.n_weights).reduce((sum, n) => sum + n, 0);
        const { n_used: used, n_experts: experts } = operation;
        read(operation.weight, 1 - (1 - used / experts) ** size.tokens);
        flop += 2 * rows * operation.columns * used * size.tokens;
        break;
      }
      case "attention": {
        const { n_heads, n_kv_heads, head_dim, value_dim, window, chunk } = operation;
        // A chunk is half full on average.
        const attended = Math.min(size.attended, window || Infinity, chunk / 2 || Infinity);
        const values = latent.has(operation.layer) ? head_dim : head_dim + value_dim;
        bytes += size.sequences * attended * n_kv_heads * values * size.kvValueBytes;
        flop += 2 * size.tokens * attended * n_heads * (head_dim + value_dim);
        break;
      }
    }
  }
  return { bytes, flop };
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
