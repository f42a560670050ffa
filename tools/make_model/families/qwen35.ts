import type { MetadataEntry } from "../../../engine/gguf/metadata.ts";
import {
  type AddWeight,
  count,
  counts,
  type Dimensions,
  dimensionsMetadata,
  type ExpertDimensions,
  expertsMetadata,
  routerValues,
  type Shape,
  smallValues,
  stackedWeights,
} from "../shape.ts";
import { decayValues, kernelValues } from "../state_values.ts";

/** Layers with a state: gated delta nets. */
export interface DeltaNetDimensions {
  /** Heads of V, which have a state each, and of K. */
  readonly stateHeads: number;
  readonly stateKeyHeads: number;
  /** Values of a head. */
  readonly stateDimension: number;
  /** Tokens that the convolution before it sees. */
  readonly kernel: number;
  /** The last of every group of layers has attention instead. */
  readonly interval: number;
  /** Values of a head that positions rotate. */
  readonly rotated: number;
}

/** Experts, and one that every token has behind a gate. */
type SharedExpertDimensions = ExpertDimensions & { readonly sharedFeedForward: number };

/** The shape of a Qwen 3.5 or 3.6, with or without experts. */
export function qwen35Shape(
  d: Dimensions & DeltaNetDimensions & { readonly mixture?: SharedExpertDimensions },
): Shape {
  const { hiddenSize, mixture } = d;
  const replaced: Record<string, MetadataEntry> = { "rope.dimension_count": count(d.rotated) };
  // Pairs of values that turn with time, height, width: text has one position for all of them.
  const third = Math.ceil(d.rotated / 6);
  const sections = [third, third, d.rotated / 2 - 2 * third, 0];
  return {
    ...d,
    architecture: mixture ? "qwen35moe" : "qwen35",
    metadata: [
      ...dimensionsMetadata(d).map(([key, value]) => [key, replaced[key] ?? value] as const),
      ...(mixture
        ? [
          ...expertsMetadata(mixture),
          ["expert_shared_feed_forward_length", count(mixture.sharedFeedForward)] as const,
        ]
        : []),
      ["rope.dimension_sections", counts(sections)],
      ["ssm.conv_kernel", count(d.kernel)],
      ["ssm.state_size", count(d.stateDimension)],
      ["ssm.group_count", count(d.stateKeyHeads)],
      ["ssm.time_step_rank", count(d.stateHeads)],
      ["ssm.inner_size", count(d.stateHeads * d.stateDimension)],
      ["full_attention_interval", count(d.interval)],
    ],
    weights: stackedWeights(d, (add, layer) => {
      add("attn_norm", [hiddenSize]);
      if (layer % d.interval === d.interval - 1) addAttention(d, add);
      else addDeltaNet(d, add);
      add("post_attention_norm", [hiddenSize]);
      if (mixture) return addExperts(hiddenSize, mixture, add);
      add("ffn_gate", [hiddenSize, d.feedForward]);
      add("ffn_up", [hiddenSize, d.feedForward]);
      add("ffn_down", [d.feedForward, hiddenSize]);
    }),
  };
}

function addAttention({ hiddenSize, heads, kvHeads, headDimension }: Dimensions, add: AddWeight) {
  // A head's query, and its gate.
  add("attn_q", [hiddenSize, 2 * heads * headDimension]);
  add("attn_q_norm", [headDimension]);
  add("attn_k", [hiddenSize, kvHeads * headDimension]);
  add("attn_k_norm", [headDimension]);
  add("attn_v", [hiddenSize, kvHeads * headDimension]);
  add("attn_output", [heads * headDimension, hiddenSize]);
}

function addDeltaNet({ hiddenSize, ...d }: Dimensions & DeltaNetDimensions, add: AddWeight) {
  const width = d.stateHeads * d.stateDimension;
  const convolved = width + 2 * d.stateKeyHeads * d.stateDimension;
  add("attn_qkv", [hiddenSize, convolved]);
  add("attn_gate", [hiddenSize, width]);
  add("ssm_conv1d", [d.kernel, convolved], kernelValues(d.kernel));
  add("ssm_alpha", [hiddenSize, d.stateHeads]);
  add("ssm_beta", [hiddenSize, d.stateHeads]);
  add("ssm_dt.bias", [d.stateHeads], smallValues);
  add("ssm_a", [d.stateHeads], decayValues);
  add("ssm_norm", [d.stateDimension]);
  add("ssm_out", [width, hiddenSize]);
}

function addExperts(hiddenSize: number, mixture: SharedExpertDimensions, add: AddWeight) {
  const { experts, expertFeedForward: width, sharedFeedForward: shared } = mixture;
  add("ffn_gate_inp", [hiddenSize, experts], routerValues(hiddenSize));
  add("ffn_gate_exps", [hiddenSize, width, experts]);
  add("ffn_up_exps", [hiddenSize, width, experts]);
  add("ffn_down_exps", [width, hiddenSize, experts]);
  add("ffn_gate_inp_shexp", [hiddenSize, 1], routerValues(hiddenSize));
  add("ffn_gate_shexp", [hiddenSize, shared]);
  add("ffn_up_shexp", [hiddenSize, shared]);
  add("ffn_down_shexp", [shared, hiddenSize]);
}
