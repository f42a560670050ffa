/**
 * The arguments of operations: buffers, weights, heads, how positions enter them, and the options of those that have
 * many.
 *
 * @module
 */
import type { Activation, HeadNorm, Norm, Rope, Score } from "../device/mod.ts";

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
  /** Of experts: name of the weight of the one that every token has; of the same type. */
  readonly shared?: string;
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

/** How a norm works, and on what part of its buffers; see m40_op_norm. */
export interface NormOptions {
  /** Absent: ones. */
  readonly weight?: string;
  readonly bias?: string;
  readonly kind?: keyof typeof Norm;
  readonly epsilon: number;
  readonly residual?: Buffer;
  /** Name of a tensor [1]. */
  readonly factor?: string;
  /** Values of a group; those of the input where absent. */
  readonly columns?: number;
  readonly groups?: number;
  /** Whether each group has a weight, and a bias, of its own. */
  readonly weightPerGroup?: boolean;
  readonly inputColumn?: number;
  readonly outputColumn?: number;
}

/** What queries see, and how. */
export interface AttentionOptions {
  readonly scale: number;
  readonly softcap?: number;
  /** Tokens that are seen, the own one included; 0: all. */
  readonly window?: number;
  /** Tokens: those from the last multiple of it on are seen; 0: all. */
  readonly chunk?: number;
  /** Name of a tensor [heads]. */
  readonly sinks?: string;
}

/** A nonlinearity by the name of its operation. */
export type ActivationName = keyof typeof Activation;

/** What an activation is taken of. */
export interface ActivationOptions {
  readonly gated: boolean;
  readonly up?: { readonly buffer: Buffer; readonly column: number };
  /** Of the clamped SwiGLU. */
  readonly alpha?: number;
  readonly limit?: number;
}

/** How experts are chosen; see m40_op_route. */
export interface RouteOptions {
  readonly normalise: boolean;
  readonly scale?: number;
  readonly score?: keyof typeof Score;
  /** Name of a tensor [experts] that is added for the choice alone. */
  readonly bias?: string;
  /** Whether every token has one more expert. */
  readonly shared?: boolean;
  readonly groups?: number;
  readonly groupsUsed?: number;
  /** What the sum of the chosen counts as at least. */
  readonly leastSum?: number;
}
