import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting, sharedExperts } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * GLM-4.5, 4.6 and 4.7 (GLM-4.5 Team 2025, arXiv:2508.06471): experts chosen by sigmoids and a bias, one that every
 * token has, and a few layers without experts first.
 */
export const glm4moe: Architecture = {
  name: "glm4moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const rope = readRope(model, "halves");
    const routing = requireRouting(parameters, { score: "sigmoid", normalise: true });
    const dense = parameters.countOrNone("leading_dense_block_count", 0);
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      const norms = layer.has("attn_q_norm.weight") ? "before" : undefined;
      attention(layer, layer.norm("attn_norm"), { rope, norms });
      // For all its name, the norm before the feed-forward layer.
      const normed = layer.norm("post_attention_norm");
      if (layer.index < dense) {
        feedForward(layer, normed, { activation });
      } else {
        experts(layer, normed, { routing, activation });
        sharedExperts(layer, normed, { routing, activation });
      }
    }
    return model.finish();
  },
};
