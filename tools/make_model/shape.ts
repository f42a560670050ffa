import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import type { Random } from "./blocks.ts";

/** A weight of a model: its name, its shape (columns first) and what decides its type and its values. */
export interface Weight {
  readonly name: string;
  readonly shape: readonly number[];
  /** The layer that it belongs to; undefined for those outside of the layers. */
  readonly layer?: number;
  /**
   * Values in F32, instead of a matrix of the model's type: a vector without them is a norm's, near 1.
   */
  readonly values?: (count: number, random: Random) => Float32Array<ArrayBuffer>;
}

/** What a model's metadata and tensors are made from. */
export interface Shape {
  readonly name: string;
  /** As in `general.architecture`. */
  readonly architecture: string;
  readonly layers: number;
  readonly vocabSize: number;
  /** Whether the output layer is the embedding. */
  readonly tied: boolean;
  /** The architecture's own metadata: keys without its name. */
  readonly metadata: readonly (readonly [key: string, value: MetadataEntry])[];
  /** In the order of the file. */
  readonly weights: readonly Weight[];
}

/** What shapes of all architectures have. */
export interface Dimensions {
  readonly name: string;
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDimension: number;
  /** The width of the feed-forward layer; of those without experts, where there are some. */
  readonly feedForward: number;
  readonly vocabSize: number;
  /** The longest context, in tokens. */
  readonly contextLength: number;
  readonly ropeBase: number;
  /** Whether the output layer is the embedding. */
  readonly tied: boolean;
}

/** What mixtures of experts have in addition. */
export interface ExpertDimensions {
  readonly experts: number;
  readonly expertsUsed: number;
  /** The width of one expert. */
  readonly expertFeedForward: number;
}

export const count = (value: number) => entry("uint32", value);
export const real = (value: number) => entry("float32", value);
export const text = (value: string) => entry("string", value);
export const switched = (value: boolean) => entry("bool", value);
export const counts = (values: readonly number[]) => arrayEntry("uint32", [...values]);

/** The metadata that all architectures have. */
export function dimensionsMetadata(d: Dimensions): [string, MetadataEntry][] {
  return [
    ["block_count", count(d.layers)],
    ["context_length", count(d.contextLength)],
    ["embedding_length", count(d.hiddenSize)],
    ["feed_forward_length", count(d.feedForward)],
    ["attention.head_count", count(d.heads)],
    ["attention.head_count_kv", count(d.kvHeads)],
    ["attention.key_length", count(d.headDimension)],
    ["attention.value_length", count(d.headDimension)],
    ["attention.layer_norm_rms_epsilon", real(1e-5)],
    ["rope.freq_base", real(d.ropeBase)],
    ["rope.dimension_count", count(d.headDimension)],
    ["vocab_size", count(d.vocabSize)],
  ];
}

/** The metadata of experts. */
export function expertsMetadata(d: ExpertDimensions): [string, MetadataEntry][] {
  return [
    ["expert_count", count(d.experts)],
    ["expert_used_count", count(d.expertsUsed)],
    ["expert_feed_forward_length", count(d.expertFeedForward)],
  ];
}

/** Tensors with nothing after their names. */
const PLAIN_NAMES = new Set(["ssm_a", "ssm_d"]);

/** Adds a layer's weight by its name without the layer; those of 3 dimensions are experts'. */
export type AddWeight = (name: string, shape: readonly number[], values?: Weight["values"]) => void;

/** Embeddings, the layers' weights, the last norm and the output. */
export function stackedWeights(
  d: Dimensions,
  addLayer: (add: AddWeight, layer: number) => void,
  first: readonly Weight[] = [],
): Weight[] {
  const weights: Weight[] = [
    { name: "token_embd.weight", shape: [d.hiddenSize, d.vocabSize] },
    ...first,
  ];
  for (let layer = 0; layer < d.layers; layer++) {
    addLayer((name, shape, values) => {
      const full = name.includes(".") || PLAIN_NAMES.has(name) ? name : `${name}.weight`;
      weights.push({ name: `blk.${layer}.${full}`, shape, layer, values });
    }, layer);
  }
  weights.push({ name: "output_norm.weight", shape: [d.hiddenSize] });
  if (!d.tied) weights.push({ name: "output.weight", shape: [d.hiddenSize, d.vocabSize] });
  return weights;
}

/** Small values about 0: biases. */
export function smallValues(n: number, random: Random): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: n }, () => 0.02 * random.signed());
}

/** Values of a matrix that is never quantised: a router's, [columns, experts]. */
export function routerValues(columns: number): Weight["values"] {
  return (n, random) =>
    Float32Array.from({ length: n }, () => random.signed() * Math.sqrt(3 / columns));
}
