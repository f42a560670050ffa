import type { HeadShape } from "../../program/mod.ts";
import type { Hyperparameters } from "./hyperparameters.ts";

/** The numbers of a layer. */
export interface LayerNumbers {
  readonly shape: HeadShape;
  /** Width of the feed-forward layer. */
  readonly feedForward: number;
}

/**
 * Reads the numbers of each layer; of those that predict further tokens (`nextn_predict_layers`, the last of
 * `block_count`) there are none.
 *
 * @param partial Whether layers may lack their attention or their feed-forward layer: they have 0 of it, or the file has
 * no number at all where no layer has any.
 * @throws {M40Error} "invalid_model" where they are missing, out of range, or do not fit together.
 */
export function readLayerNumbers(parameters: Hyperparameters, partial: boolean): LayerNumbers[] {
  const hiddenSize = parameters.count("embedding_length");
  const blocks = parameters.count("block_count");
  // Before anything is made for each of them.
  if (blocks > parameters.tensors) {
    throw parameters.invalid(`there are ${blocks} layers, but ${parameters.tensors} tensors`);
  }
  const predicting = parameters.countOrNone("nextn_predict_layers", 0);
  if (predicting >= blocks) {
    throw parameters.invalid(`${predicting} of ${blocks} layers predict further tokens`);
  }
  const least = partial ? 0 : 1;
  const heads = parameters.countByLayer("attention.head_count", blocks, least);
  const kvHeads = parameters.has("attention.head_count_kv")
    ? parameters.countByLayer("attention.head_count_kv", blocks, least)
    : heads;
  const widths = partial && !parameters.has("feed_forward_length")
    ? heads.map(() => 0)
    : parameters.countByLayer("feed_forward_length", blocks, least);
  const mostHeads = heads.reduce((most, n) => Math.max(most, n));
  return Array.from({ length: blocks - predicting }, (_, layer) => ({
    shape: headShape(parameters, hiddenSize, heads[layer], kvHeads[layer], mostHeads),
    feedForward: widths[layer],
  }));
}

function headShape(
  parameters: Hyperparameters,
  hiddenSize: number,
  heads: number,
  kvHeads: number,
  mostHeads: number,
): HeadShape {
  if (mostHeads === 0) return { heads, kvHeads: 0, headDim: 0, valueDim: 0 };
  // Of a layer without heads it is the others'; nothing there has it.
  const dividing = heads || mostHeads;
  if (kvHeads > heads || heads % (kvHeads || 1) !== 0) {
    throw parameters.invalid(`${heads} heads cannot share ${kvHeads} KV heads evenly`);
  }
  if (!parameters.has("attention.key_length") && hiddenSize % dividing !== 0) {
    throw parameters.invalid(
      `a hidden size of ${hiddenSize} does not divide into ${dividing} heads`,
    );
  }
  const headDim = parameters.count("attention.key_length", hiddenSize / dividing);
  const valueDim = parameters.count("attention.value_length", headDim);
  return { heads, kvHeads, headDim, valueDim };
}
