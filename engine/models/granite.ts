import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Granite (IBM 2024): Llama with four multipliers: of the embeddings, of what a layer adds to the stream, of
 * attention, and a divisor of the logits.
 */
export const granite: Architecture = {
  name: "granite",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    // Granite 4 says so where it has no positions at all.
    const rope = parameters.flag("rope.scaling.finetuned", true)
      ? readRope(model, "interleaved")
      : NO_ROPE;
    const routing = readRouting(parameters, { score: "softmax", normalise: true });
    const shared = parameters.countOrNone("expert_shared_feed_forward_length", 0);
    const scale = parameters.positive("residual_scale", 1);
    const qkScale = parameters.has("attention.scale")
      ? parameters.positive("attention.scale")
      : undefined;
    const activation = "silu";

    model.embed({ scale: parameters.positive("embedding_scale", 1) });
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, qkScale, scale });
      const normed = layer.norm("ffn_norm");
      if (routing) experts(layer, normed, { routing, activation, scale });
      else feedForward(layer, normed, { activation, scale });
      if (shared > 0) {
        feedForward(layer, normed, { activation, scale, suffix: "_shexp", width: shared });
      }
    }
    return model.finish({ scale: 1 / parameters.positive("logit_scale", 1) });
  },
};

/** Its mixtures of experts. */
export const granitemoe: Architecture = { name: "granitemoe", read: granite.read };
