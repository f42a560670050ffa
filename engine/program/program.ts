import type { BufferDesc } from "../device/mod.ts";
import type { Operation } from "./operation.ts";
import type { Weight } from "./weight_table.ts";

/** What a layer of the KV cache keeps of each token, and how far back it is read. */
export interface CacheLayer {
  readonly kvHeads: number;
  /** Values of a head of K. */
  readonly headDim: number;
  /** Values of a head of V; 0 where V are the first values of K. */
  readonly valueDim: number;
  /** Positions that a token attends to, its own among them; 0: all before it. */
  readonly window: number;
  /** With a chunk, a token attends to positions from the last multiple of it on; 0: to all before it. */
  readonly chunk: number;
}

/** What a model is: operations over buffers and weights, before any of it is on a device. */
export interface Program {
  readonly operations: readonly Operation[];
  readonly buffers: readonly BufferDesc[];
  readonly weights: readonly Weight[];
  /** The layers that K and V are kept of, by the numbers that operations name them by. */
  readonly cacheLayers: readonly CacheLayer[];
  /** What is kept of a sequence however long it is: floats of each state, by the numbers that operations name them by. */
  readonly states: readonly number[];
}
