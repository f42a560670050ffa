import type { Gguf } from "../gguf/mod.ts";
import type { Architecture, Model } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { mamba2 } from "./parts/mamba2.ts";
import { readStateNumbers } from "./parts/recurrence.ts";
import { NO_ROPE } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Nemotron-H (NVIDIA 2025, arXiv:2504.03624): a layer is one of three things. It is attention without positions where
 * it has KV heads, a feed-forward layer of squared ReLUs where it has a width, Mamba-2 else.
 */
export const nemotronH: Architecture = { name: "nemotron_h", read };

/**
 * Nemotron 3 Nano (NVIDIA 2025): the same with experts, chosen by sigmoids and a bias, and one that every token has.
 */
export const nemotronHMoe: Architecture = { name: "nemotron_h_moe", read };

function read(gguf: Gguf): Model {
  const model = new Transformer(gguf, "rms", { partialLayers: true });
  const { parameters } = model;
  const numbers = readStateNumbers(parameters);
  const routing = readRouting(parameters, { score: "sigmoid", normalise: true });
  const sharedWidth = routing &&
    parameters.countOrNone("expert_shared_feed_forward_length", routing.sharedWidth);
  const products = { activation: "relu_squared", gated: "none" } as const;

  model.embed();
  for (const layer of model.layers) {
    const normed = layer.norm("attn_norm");
    if (layer.shape.kvHeads > 0) attention(layer, normed, { rope: NO_ROPE });
    else if (layer.feedForward === 0) mamba2(layer, normed, { numbers });
    else if (routing) experts(layer, normed, { routing, sharedWidth, ...products });
    else feedForward(layer, normed, products);
  }
  return model.finish();
}
