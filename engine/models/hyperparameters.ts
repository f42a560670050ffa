import { M40Error } from "../errors.ts";
import type { Gguf } from "../gguf/reader.ts";
import type { HeadShape, RopeOptions } from "../program/builder.ts";
import type { ModelShape } from "./model.ts";

/** The hyperparameters that transformer architectures share, out of `<architecture>.*` metadata. */
export interface Hyperparameters extends ModelShape {
  /** The prefix of the architecture's keys. */
  readonly prefix: string;
  readonly normEpsilon: number;
  readonly attention: HeadShape;
}

/**
 * Reads and checks them.
 *
 * @param epsilonKey The key of the norms' epsilon, after the architecture's prefix.
 * @throws {M40Error} "invalid_model" where a key is missing, of another type or out of range.
 */
export function readHyperparameters(
  gguf: Gguf,
  epsilonKey = "attention.layer_norm_rms_epsilon",
): Hyperparameters {
  const { metadata, tensors } = gguf;
  const prefix = metadata.string("general.architecture");
  const count = (key: string, fallback?: number) => {
    const value = metadata.number(`${prefix}.${key}`, fallback);
    if (!Number.isInteger(value) || value < 1 || value > 2 ** 24) {
      throw invalid(gguf, `${prefix}.${key} is ${value}, wanted an integer from 1 to 16777216`);
    }
    return value;
  };
  const layers = count("block_count");
  const hiddenSize = count("embedding_length");
  const heads = count("attention.head_count");
  const kvHeads = count("attention.head_count_kv", heads);
  if (heads % kvHeads !== 0) {
    throw invalid(gguf, `${heads} heads cannot share ${kvHeads} KV heads evenly`);
  }
  if (!metadata.has(`${prefix}.attention.key_length`) && hiddenSize % heads !== 0) {
    throw invalid(gguf, `a hidden size of ${hiddenSize} does not divide into ${heads} heads`);
  }
  const headDim = count("attention.key_length", hiddenSize / heads);
  const valueDim = count("attention.value_length", headDim);
  if (valueDim !== headDim) {
    throw invalid(
      gguf,
      `keys of ${headDim} and values of ${valueDim} are not supported; wanted equal`,
    );
  }
  const normEpsilon = metadata.number(`${prefix}.${epsilonKey}`);
  if (!(normEpsilon >= 0 && normEpsilon < 1)) {
    throw invalid(gguf, `${prefix}.${epsilonKey} is ${normEpsilon}, wanted a number from 0 to 1`);
  }
  const embeddings = tensors.get("token_embd.weight");
  if (embeddings === undefined) throw invalid(gguf, "there is no tensor token_embd.weight");
  return {
    prefix,
    layers,
    hiddenSize,
    heads,
    kvHeads,
    headDim,
    feedForward: count("feed_forward_length"),
    vocabSize: embeddings.shape[1] ?? 1,
    contextLength: count("context_length"),
    normEpsilon,
    attention: { heads, kvHeads, headDim },
  };
}

/**
 * Reads how positions are encoded: `rope.*`, with linear and YaRN scaling (Peng et al. 2023,
 * arXiv:2309.00071) and the frequency factors of a tensor `rope_freqs.weight`.
 *
 * @throws {M40Error} "invalid_model" where a value is out of range; "unsupported" for other scalings.
 */
export function readRope(
  gguf: Gguf,
  parameters: Hyperparameters,
  kind: RopeOptions["kind"],
): RopeOptions {
  const { metadata, tensors } = gguf;
  const { prefix, headDim } = parameters;
  const positive = (key: string, fallback: number) => {
    const value = metadata.number(`${prefix}.rope.${key}`, fallback);
    if (!(value > 0 && Number.isFinite(value))) {
      throw invalid(gguf, `${prefix}.rope.${key} is ${value}, wanted a number above 0`);
    }
    return value;
  };
  const dim = positive("dimension_count", headDim);
  if (!Number.isInteger(dim) || dim % 2 !== 0 || dim > headDim) {
    throw invalid(
      gguf,
      `${prefix}.rope.dimension_count is ${dim}, wanted an even number up to ${headDim}`,
    );
  }
  const scaling = metadata.string(`${prefix}.rope.scaling.type`, "none");
  if (!["none", "linear", "yarn"].includes(scaling)) {
    throw new M40Error(
      "unsupported",
      `${gguf.path}: rope scaling ${
        JSON.stringify(scaling)
      } is not known; known: none, linear, yarn`,
    );
  }
  const factor = scaling === "none" ? 1 : positive("scaling.factor", positive("scale_linear", 1));
  const yarn = scaling === "yarn";
  return {
    kind,
    dim,
    freqBase: positive("freq_base", 10000),
    freqScale: 1 / factor,
    factors: tensors.has("rope_freqs.weight") ? "rope_freqs.weight" : undefined,
    extFactor: yarn ? 1 : 0,
    attentionFactor: yarn
      ? positive("scaling.attn_factor", 1) * (factor > 1 ? 0.1 * Math.log(factor) + 1 : 1)
      : 1,
    betaFast: positive("scaling.yarn_beta_fast", 32),
    betaSlow: positive("scaling.yarn_beta_slow", 1),
    originalContext: positive("scaling.original_context_length", parameters.contextLength),
  };
}

function invalid(gguf: Gguf, message: string): M40Error {
  return new M40Error("invalid_model", `${gguf.path}: ${message}`);
}
