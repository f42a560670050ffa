import type { AttentionTemperature, RopeOptions } from "../../program/mod.ts";
import type { Hyperparameters } from "./hyperparameters.ts";
import type { Transformer } from "./transformer.ts";

/** What a layer without rotary positions has instead of their settings. */
export const NO_ROPE: RopeOptions = {
  kind: "none",
  dim: 0,
  freqBase: 1,
  freqScale: 1,
  extFactor: 0,
  attentionFactor: 1,
  betaFast: 0,
  betaSlow: 0,
  originalContext: 0,
};

/**
 * Reads how positions are encoded: `rope.*`, with linear and YaRN scaling (Peng et al. 2023,
 * arXiv:2309.00071) and the frequency factors of a tensor `rope_freqs.weight`.
 *
 * @param kind Which values of a head make a pair; a file does not say, but its architecture does.
 * @param headDim Values of a head that can be rotated; a layer's head dimension where absent.
 * @throws {M40Error} "invalid_model" where a value is out of range; "unsupported" for other scalings.
 */
export function readRope(
  model: Transformer,
  kind: "interleaved" | "halves",
  headDim: number = model.layers[0].shape.headDim,
): RopeOptions {
  const { parameters, program } = model;
  const scaling = readScaling(parameters);
  if (!["none", "linear", "yarn", "longrope"].includes(scaling)) {
    throw parameters.unsupported(
      `rope scaling ${JSON.stringify(scaling)} is not known; known: none, linear, yarn, longrope`,
    );
  }
  const yarn = scaling === "yarn";
  const factor = yarn || scaling === "linear"
    ? readFactor(parameters, "rope.scaling.factor") ??
      readFactor(parameters, "rope.scale_linear") ??
      1
    : 1;
  return {
    kind,
    dim: readRotated(model, "rope.dimension_count", headDim),
    freqBase: parameters.positive("rope.freq_base", 10000),
    freqScale: 1 / factor,
    factors: program.has("rope_freqs.weight") ? "rope_freqs.weight" : undefined,
    extFactor: yarn ? parameters.number("rope.scaling.yarn_ext_factor", 1) : 0,
    attentionFactor: parameters.positive("rope.scaling.attn_factor", 1) *
      // llama.cpp's converter writes yarn_attn_factor as well, which is in the magnitude already.
      (yarn ? yarnMagnitude(model, factor) : 1),
    betaFast: parameters.positive("rope.scaling.yarn_beta_fast", 32),
    betaSlow: parameters.positive("rope.scaling.yarn_beta_slow", 1),
    originalContext: parameters.count(
      "rope.scaling.original_context_length",
      model.contextLength,
    ),
  };
}

/**
 * The kind of scaling; a file that names an empty one, as converters have written it, means what one without the key
 * means.
 */
function readScaling(parameters: Hyperparameters): string {
  const key = "rope.scaling.type";
  const scaling = parameters.string(key, "linear");
  // What transformers calls positions that are not scaled.
  if (scaling === "default") return "none";
  if (scaling !== "") return scaling;
  parameters.warn(
    key,
    'is "", which names no scaling: it is read as "linear", as if it were not there.',
  );
  return "linear";
}

/** How many times longer texts are made by scaling; undefined where the file does not say. */
function readFactor(parameters: Hyperparameters, key: string): number | undefined {
  if (!parameters.has(key)) return undefined;
  if (parameters.number(key) !== 0) return parameters.positive(key);
  parameters.warn(key, "is 0, which scales nothing: positions are taken as they are.");
  return undefined;
}

/**
 * As {@link readRope}, with factors for contexts beyond the one that the model was first trained with and others for
 * those within it (LongRoPE, Ding et al. 2024, arXiv:2402.13753). Which apply is settled once, by the context that is
 * asked for: a token's keys must not depend on how long its sequence becomes.
 *
 * @param contextTokens Tokens that are served at most; as many as it was trained for, where none are asked for.
 */
export function readLongRope(
  model: Transformer,
  kind: "interleaved" | "halves",
  contextTokens: number = model.contextLength,
): RopeOptions {
  const rope = readRope(model, kind);
  const [long, short] = ["rope_factors_long.weight", "rope_factors_short.weight"];
  if (!model.program.has(long) && !model.program.has(short)) return rope;
  const factors = contextTokens > rope.originalContext ? long : short;
  model.program.ignore((name) => name === long || name === short);
  return { ...rope, factors };
}

/** How many values of a head are rotated. */
export function readRotated(model: Transformer, key: string, headDim: number): number {
  const dim = model.parameters.count(key, headDim);
  if (dim % 2 !== 0 || dim > headDim) {
    throw model.parameters.invalid(`${key} is ${dim}, wanted an even number up to ${headDim}`);
  }
  return dim;
}

/**
 * The positions of layers with a window, unscaled, as these see no further than they were trained to: with the base
 * `rope.freq_base_swa`.
 *
 * @param rope The positions of the other layers.
 * @param freqBase The base where the file names none; that of the other layers where absent.
 */
export function readLocalRope(
  { parameters }: Transformer,
  rope: RopeOptions,
  freqBase: number = rope.freqBase,
): RopeOptions {
  return {
    ...rope,
    freqBase: parameters.positive("rope.freq_base_swa", freqBase),
    freqScale: 1,
    factors: undefined,
    extFactor: 0,
    attentionFactor: 1,
  };
}

/**
 * What YaRN multiplies cosines and sines by: 1 + ln(factor) / 10. A model whose attention has a part of that in
 * its own scale (`yarn_log_multiplier`) has it divided out here.
 */
function yarnMagnitude({ parameters }: Transformer, factor: number): number {
  if (factor <= 1) return 1;
  const part = parameters.number("rope.scaling.yarn_log_multiplier", 0);
  return (1 + 0.1 * Math.log(factor)) / (1 + 0.1 * part * Math.log(factor));
}

/** How much sharper attention is far into a text; undefined where it is everywhere the same. */
export function readTemperature(
  { parameters, contextLength }: Transformer,
): AttentionTemperature | undefined {
  const scale = parameters.number("attention.temperature_scale", 0);
  if (scale === 0) return undefined;
  const original = parameters.count("rope.scaling.original_context_length", contextLength);
  return { scale, length: parameters.count("attention.temperature_length", original), offset: 0 };
}
