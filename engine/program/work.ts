import { NONE, Rows } from "../device/mod.ts";
import type { Operation } from "./operation.ts";
import { WEIGHT_FIELDS } from "./operations.generated.ts";
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
  const works = operationWork(program, size);
  return { bytes: sum(works.map(({ bytes }) => bytes)), flop: sum(works.map(({ flop }) => flop)) };
}

/** The work of each of a program's operations in a step; {@link stepWork} is their sum. */
export function operationWork(program: Program, size: StepSize): StepWork[] {
  const latent = latentLayers(program.operations);
  return program.operations.map((operation) => {
    let bytes = sum(
      weightsOf(operation).map((weight) => {
        const { tensor } = program.weights[weight];
        return tensor.bytes * readShare(operation, weight, tensor.shape, size.tokens);
      }),
    );
    if (operation.kind === "attention") {
      const { n_kv_heads, head_dim, value_dim } = operation;
      const values = latent.has(operation.layer) ? head_dim : head_dim + value_dim;
      bytes += size.sequences * attendedBy(operation, size) * n_kv_heads * values *
        size.kvValueBytes;
    }
    if ("state" in operation) {
      bytes += 2 * size.sequences * program.states[operation.state] *
        Float32Array.BYTES_PER_ELEMENT;
    }
    return { bytes, flop: flopOf(program, operation, size) };
  });
}

/** Multiplications and additions of an operation. */
function flopOf(program: Program, operation: Operation, size: StepSize): number {
  switch (operation.kind) {
    case "matmul": {
      const ofOutputs = program.buffers[operation.output].rows === Rows.outputs;
      const tokens = ofOutputs ? size.outputs : size.tokens;
      return 2 * sum(operation.rows) * operation.columns * tokens;
    }
    case "head_matmul":
      return 2 * operation.n_heads * operation.rows * operation.columns * size.tokens;
    case "expert_matmul":
      return 2 * sum(operation.rows) * operation.columns * operation.n_used * size.tokens;
    case "attention": {
      const { n_heads, head_dim, value_dim } = operation;
      return 2 * size.tokens * attendedBy(operation, size) * n_heads * (head_dim + value_dim);
    }
    case "conv":
      return 2 * operation.kernel * operation.columns * size.tokens;
    case "delta_rule":
      // A state's value decays, is looked up, learns and is looked up.
      return 7 * program.states[operation.state] * size.tokens;
    case "selective_scan":
      // It decays, learns and is looked up.
      return 5 * program.states[operation.state] * size.tokens;
    default:
      return 0;
  }
}

/** Positions that a token attends to on average. */
function attendedBy(
  { window, chunk }: Operation & { kind: "attention" },
  size: StepSize,
): number {
  // A chunk is half full on average.
  return Math.min(size.attended, window || Infinity, chunk / 2 || Infinity);
}

/** The layer that an operation is of, by the names of its weights; undefined where it has none of a layer. */
export function layerOf(program: Program, operation: Operation): number | undefined {
  for (const weight of weightsOf(operation)) {
    const match = /^blk\.(\d+)\./.exec(program.weights[weight].tensor.name);
    if (match) return Number(match[1]);
  }
  return undefined;
}

/** What an operation is called: its weights' names without those of layers, or its kind. */
export function nameOf(program: Program, operation: Operation): string {
  const names = weightsOf(operation)
    .map((weight) => program.weights[weight].tensor.name)
    .map((name) => name.replace(/^blk\.\d+\./, "").replace(/\.weight$/, ""))
    .filter((name) => operation.kind !== "matmul" || !name.endsWith(".bias"));
  return names.length === 0 ? operation.kind : `${operation.kind} ${names.join(", ")}`;
}

/** The weights that an operation names, as indices into the program's. */
export function weightsOf(operation: Operation): number[] {
  const values = operation as unknown as Record<string, number | readonly number[]>;
  return (WEIGHT_FIELDS[operation.kind] ?? []).flatMap((field) => values[field])
    .filter((weight) => weight !== NONE);
}

/** Which part of a weight a step of that many tokens reads. */
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
