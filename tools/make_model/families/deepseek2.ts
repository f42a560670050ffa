import type { MetadataEntry } from "../../../engine/gguf/metadata.ts";
import {
  count,
  type Dimensions,
  dimensionsMetadata,
  type ExpertDimensions,
  expertsMetadata,
  real,
  routerValues,
  type Shape,
  smallValues,
  stackedWeights,
  switched,
} from "../shape.ts";

/** Multi-head latent attention. */
export interface LatentDimensions {
  readonly queryRank: number;
  /** Values of a token's latent vector. */
  readonly latentRank: number;
  /** Values of a head's query and key that are rotated, and that are not. */
  readonly rotated: number;
  readonly plain: number;
  readonly valueDimension: number;
  /** Layers without experts, at the start. */
  readonly denseLayers: number;
  readonly sharedExperts: number;
}

/** The shape of a DeepSeek-V2 and what is built like it: a latent cache, experts chosen by sigmoids. */
export function deepseek2Shape(
  d: Omit<Dimensions, "kvHeads" | "headDimension"> & ExpertDimensions & LatentDimensions,
): Shape {
  const { hiddenSize, heads, experts, expertFeedForward: width, latentRank } = d;
  const full = { ...d, kvHeads: 1, headDimension: latentRank + d.rotated };
  const replaced: Record<string, MetadataEntry> = {
    "attention.value_length": count(latentRank),
    "rope.dimension_count": count(d.rotated),
  };
  const shared = d.sharedExperts * width;
  return {
    ...d,
    architecture: "deepseek2",
    metadata: [
      ...dimensionsMetadata(full).map(([key, value]) => [key, replaced[key] ?? value] as const),
      ...expertsMetadata(d),
      ["attention.q_lora_rank", count(d.queryRank)],
      ["attention.kv_lora_rank", count(latentRank)],
      ["attention.key_length_mla", count(d.plain + d.rotated)],
      ["attention.value_length_mla", count(d.valueDimension)],
      ["leading_dense_block_count", count(d.denseLayers)],
      ["expert_shared_count", count(d.sharedExperts)],
      ["expert_weights_scale", real(1.8)],
      ["expert_weights_norm", switched(true)],
      ["expert_gating_func", count(2)],
      ["expert_group_count", count(1)],
      ["expert_group_used_count", count(1)],
    ],
    weights: stackedWeights(full, (add, layer) => {
      add("attn_norm", [hiddenSize]);
      add("attn_q_a", [hiddenSize, d.queryRank]);
      add("attn_q_a_norm", [d.queryRank]);
      add("attn_q_b", [d.queryRank, heads * (d.plain + d.rotated)]);
      add("attn_kv_a_mqa", [hiddenSize, latentRank + d.rotated]);
      add("attn_kv_a_norm", [latentRank]);
      add("attn_k_b", [d.plain, latentRank, heads]);
      add("attn_v_b", [latentRank, d.valueDimension, heads]);
      add("attn_output", [heads * d.valueDimension, hiddenSize]);
      add("ffn_norm", [hiddenSize]);
      const gated = (suffix: string, n: number, more: number[] = []) => {
        add(`ffn_gate${suffix}`, [hiddenSize, n, ...more]);
        add(`ffn_up${suffix}`, [hiddenSize, n, ...more]);
        add(`ffn_down${suffix}`, [n, hiddenSize, ...more]);
      };
      if (layer < d.denseLayers) return gated("", d.feedForward);
      add("ffn_gate_inp", [hiddenSize, experts], routerValues(hiddenSize));
      add("exp_probs_b.bias", [experts], smallValues);
      gated("_exps", width, [experts]);
      if (shared > 0) gated("_shexp", shared);
    }),
  };
}
