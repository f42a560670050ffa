/**
 * What operations are told beside numbers: buffers, weights, heads, and how positions enter them.
 *
 * @module
 */
import type { HeadNorm, Rope } from "../device/structs.ts";

/** A buffer of a program: [rows, columns], as many rows as the step has of what they stand for. */
export interface Buffer {
  readonly index: number;
  readonly columns: number;
}

/** A matrix product's weight by its tensor's name, [rows, columns of the input], and its bias. */
export interface MatmulWeight {
  readonly weight: string;
  readonly rows: number;
  readonly bias?: string;
  /** Name of a tensor that multiplies the product: [1], or [experts]; of types whose scale is apart. */
  readonly factor?: string;
}

/** What an attention layer looks like. */
export interface HeadShape {
  readonly heads: number;
  readonly kvHeads: number;
  /** Values of a head's query and key. */
  readonly headDim: number;
  /** Values of a head's value; `headDim` where absent. */
  readonly valueDim?: number;
}

/** Where K and V stand in a buffer; see m40_op_rope_store. */
export interface KeysAndValues {
  readonly buffer: Buffer;
  readonly keyColumn: number;
  /** Absent in a latent cache: values are the first of the keys. */
  readonly valueColumn?: number;
}

/** The norms of heads of q, k and v. */
export interface HeadNorms {
  /** Names of weights [head dimension]; absent: norms without a weight. */
  readonly q?: string;
  readonly k?: string;
  readonly epsilon: number;
  /** Before the rotation, where absent; "none": of v alone. */
  readonly order?: keyof typeof HeadNorm;
  /** Whether v is normalised as well, without a weight. */
  readonly v?: boolean;
}

/** Queries are multiplied by 1 + scale * ln(1 + floor((position + offset) / length)). */
export interface AttentionTemperature {
  readonly scale: number;
  /** Tokens. */
  readonly length: number;
  /** Tokens. */
  readonly offset: number;
}

/** How positions are rotated into queries and keys; see m40_op_rope_store. */
export interface RopeOptions {
  readonly kind: keyof typeof Rope;
  /** Values of a head that are rotated. */
  readonly dim: number;
  /** The first of them; 0 where absent. */
  readonly offset?: number;
  readonly freqBase: number;
  readonly freqScale: number;
  /** Name of a tensor [dim / 2] that divides the frequencies. */
  readonly factors?: string;
  /** YaRN: how far to blend towards unscaled frequencies; 0 is not at all. */
  readonly extFactor: number;
  readonly attentionFactor: number;
  readonly betaFast: number;
  readonly betaSlow: number;
  /** Tokens of context that the model was first trained with; for YaRN. */
  readonly originalContext: number;
}
