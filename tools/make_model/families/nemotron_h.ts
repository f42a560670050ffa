import type { MetadataEntry } from "../../../engine/gguf/metadata.ts";
import {
  count,
  counts,
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
import { decayValues, kernelValues } from "../state_values.ts";

/** Layers of Mamba-2, and which they are. */
export interface HybridDimensions {
  /** A letter a layer: M is Mamba-2, E experts, * attention. */
  readonly pattern: string;
  readonly stateHeads: number;
  readonly stateHeadDimension: number;
  readonly stateGroups: number;
  readonly stateDimension: number;
  /** Tokens that the convolution sees. */
  readonly kernel: number;
  /** The width of the expert that every token has. */
  readonly sharedFeedForward: number;
}

/** The shape of a Nemotron 3 Nano: each layer is one of three things. */
export function nemotronHShape(
  d: Omit<Dimensions, "layers" | "feedForward"> & ExpertDimensions & HybridDimensions,
): Shape {
  const { hiddenSize, experts, expertFeedForward: width, sharedFeedForward: shared } = d;
  const kinds = [...d.pattern];
  const full = { ...d, layers: kinds.length, feedForward: width };
  const byLayer = (kind: string, value: number) => counts(kinds.map((k) => k === kind ? value : 0));
  const replaced: Record<string, MetadataEntry> = {
    "attention.head_count_kv": byLayer("*", d.kvHeads),
    "feed_forward_length": byLayer("E", width),
  };
  const inner = d.stateHeads * d.stateHeadDimension;
  const convolved = inner + 2 * d.stateGroups * d.stateDimension;
  return {
    ...full,
    architecture: "nemotron_h_moe",
    metadata: [
      ...dimensionsMetadata(full).map(([key, value]) => [key, replaced[key] ?? value] as const),
      ...expertsMetadata(d),
      ["expert_shared_count", count(1)],
      ["expert_shared_feed_forward_length", count(shared)],
      ["expert_weights_norm", switched(true)],
      ["expert_weights_scale", real(2.5)],
      ["rope.scaling.finetuned", switched(false)],
      ["ssm.conv_kernel", count(d.kernel)],
      ["ssm.state_size", count(d.stateDimension)],
      ["ssm.group_count", count(d.stateGroups)],
      ["ssm.time_step_rank", count(d.stateHeads)],
      ["ssm.inner_size", count(inner)],
    ],
    weights: stackedWeights(full, (add, layer) => {
      add("attn_norm", [hiddenSize]);
      switch (kinds[layer]) {
        case "M":
          add("ssm_in", [hiddenSize, inner + convolved + d.stateHeads]);
          add("ssm_conv1d", [d.kernel, convolved], kernelValues(d.kernel));
          add("ssm_conv1d.bias", [convolved], smallValues);
          add("ssm_dt.bias", [d.stateHeads], smallValues);
          add("ssm_a", [1, d.stateHeads], decayValues);
          add("ssm_d", [1, d.stateHeads], smallValues);
          add("ssm_norm", [inner / d.stateGroups, d.stateGroups], ones);
          add("ssm_out", [inner, hiddenSize]);
          break;
        case "E":
          add("ffn_gate_inp", [hiddenSize, experts], routerValues(hiddenSize));
          add("exp_probs_b.bias", [experts], smallValues);
          add("ffn_up_exps", [hiddenSize, width, experts]);
          add("ffn_down_exps", [width, hiddenSize, experts]);
          add("ffn_up_shexp", [hiddenSize, shared]);
          add("ffn_down_shexp", [shared, hiddenSize]);
          break;
        case "*":
          add("attn_q", [hiddenSize, d.heads * d.headDimension]);
          add("attn_k", [hiddenSize, d.kvHeads * d.headDimension]);
          add("attn_v", [hiddenSize, d.kvHeads * d.headDimension]);
          add("attn_output", [d.heads * d.headDimension, hiddenSize]);
          break;
        default:
          throw new RangeError(`a layer is M, E or *, not ${JSON.stringify(kinds[layer])}`);
      }
    }),
  };
}

function ones(n: number): Float32Array<ArrayBuffer> {
  return new Float32Array(n).fill(1);
}
