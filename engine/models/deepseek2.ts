import type { Buffer, RopeOptions } from "../program/mod.ts";
import type { Architecture } from "./model.ts";
import { attend } from "./parts/attention.ts";
import { denseOrExperts, requireRouting } from "./parts/experts.ts";
import { readRope, readTemperature } from "./parts/rope.ts";
import { type Layer, Transformer } from "./parts/transformer.ts";

/**
 * DeepSeek V2 and V3 (DeepSeek-AI 2024, arXiv:2405.04434, arXiv:2412.19437) and what is built like them, GLM-4.7-Flash
 * and Kimi K2 among them: multi-head latent attention, and many small experts.
 */
export const deepseek2: Architecture = {
  name: "deepseek2",
  read(gguf) {
    const model = new Transformer(gguf);
    const latent = readLatent(model);
    // A router with a bias for the choice alone is one of sigmoids.
    const biased = [...gguf.tensors.keys()].some((name) => name.endsWith(".exp_probs_b.bias"));
    const score = biased ? "sigmoid" : "softmax";
    const routing = requireRouting(model.parameters, { score, normalise: false });

    model.embed();
    for (const layer of model.layers) {
      latentAttention(layer, layer.norm("attn_norm"), latent);
      denseOrExperts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};

/** What multi-head latent attention looks like. */
interface Latent {
  /** Values of the vector that a token's queries are made from; 0: they are made from its hidden state. */
  readonly queryRank: number;
  /** Values of the vector that a token's keys and values are made from. */
  readonly rank: number;
  /** Values of a head's key that are not rotated, and that are; the latter are the same for all heads. */
  readonly plain: number;
  readonly rotated: number;
  /** Values of a head's value. */
  readonly valueDim: number;
  readonly rope: RopeOptions;
  readonly qkScale: number;
  readonly temperature: ReturnType<typeof readTemperature>;
}

function readLatent(model: Transformer): Latent {
  const { parameters, layers } = model;
  if (layers[0].has("attn_kv_b.weight")) {
    throw parameters.unsupported(
      "attn_kv_b is in one piece, as converters wrote it until April 2025; convert the model again, or take a " +
        "newer file, which has attn_k_b and attn_v_b",
    );
  }
  const rank = parameters.count("attention.kv_lora_rank");
  const keyDim = parameters.count("attention.key_length_mla");
  const rope = readRope(model, "interleaved", keyDim);
  if (rope.dim >= keyDim) {
    throw parameters.invalid(`all ${keyDim} values of a key are rotated, wanted fewer`);
  }
  // YaRN's magnitude is a part of the scale here, and none of the rotation's.
  const key = "rope.scaling.yarn_log_multiplier";
  const inScale = parameters.has(key) && rope.freqScale < 1;
  const magnitude = inScale ? 1 - parameters.number(key) * Math.log(rope.freqScale) : 1;
  return {
    queryRank: parameters.countOrNone("attention.q_lora_rank", 0),
    rank,
    plain: keyDim - rope.dim,
    rotated: rope.dim,
    valueDim: parameters.count("attention.value_length_mla"),
    rope: { ...rope, offset: rank, attentionFactor: inScale ? 1 : rope.attentionFactor },
    qkScale: magnitude ** 2 / Math.sqrt(keyDim),
    temperature: readTemperature(model),
  };
}

/**
 * Multi-head latent attention in its absorbed form. The cache holds one vector a token, [latent, rotated key], for all
 * heads. The matrix of a head's keys is applied to its query, and the matrix of its values to the attention's output.
 */
function latentAttention(layer: Layer, input: Buffer, latent: Latent): void {
  const { model, shape: { heads } } = layer;
  const { program } = model;
  const { rank, plain, rotated, valueDim } = latent;
  const { queries, kv, keyColumn } = projections(layer, input, latent);
  model.norm(layer.name("attn_kv_a_norm"), kv, kv, {
    columns: rank,
    inputColumn: keyColumn,
    outputColumn: keyColumn,
  });
  const absorbed = model.scratch("absorbed", heads * (rank + rotated));
  program.headMatmul(queries, absorbed, {
    weight: layer.name("attn_k_b.weight"),
    heads,
    rows: rank,
    columns: plain,
    copied: rotated,
  });
  attend(layer, absorbed, {
    shape: { heads, kvHeads: 1, headDim: rank + rotated, valueDim: rank },
    kv: { buffer: kv, keyColumn },
    rope: latent.rope,
    qkScale: latent.qkScale,
    temperature: latent.temperature,
    project(attended) {
      const values = model.scratch("values", heads * valueDim);
      program.headMatmul(attended, values, {
        weight: layer.name("attn_v_b.weight"),
        heads,
        rows: valueDim,
        columns: rank,
      });
      return model.project(values, layer.weight("attn_output", model.hiddenSize), {});
    },
  });
}

/** The queries, and where the latent vector and the rotated key stand, before its norm. */
function projections(
  layer: Layer,
  input: Buffer,
  { queryRank, rank, plain, rotated }: Latent,
): { queries: Buffer; kv: Buffer; keyColumn: number } {
  const { model, shape: { heads } } = layer;
  const { program } = model;
  const queries = model.scratch("queries", heads * (plain + rotated));
  const kv = model.scratch("latents", queryRank + rank + rotated);
  const kvWeight = layer.weight("attn_kv_a_mqa", rank + rotated);
  if (queryRank === 0) {
    program.matmul(input, queries, [layer.weight("attn_q", queries.columns)]);
    program.matmul(input, kv, [kvWeight]);
  } else {
    const latentQuery = model.scratch("latent query", queryRank);
    program.matmul(input, kv, [layer.weight("attn_q_a", queryRank), kvWeight]);
    model.norm(layer.name("attn_q_a_norm"), kv, latentQuery, { columns: queryRank });
    program.matmul(latentQuery, queries, [layer.weight("attn_q_b", queries.columns)]);
  }
  return { queries, kv, keyColumn: queryRank };
}
