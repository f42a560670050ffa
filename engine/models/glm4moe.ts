import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { denseOrExperts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * GLM-4.5, 4.6 and 4.7 (GLM-4.5 Team 2025, arXiv:2508.06471): experts chosen by sigmoids and a bias, a shared expert,
 * and a few layers without experts first.
 */
export const glm4moe: Architecture = {
  name: "glm4moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const routing = requireRouting(model.parameters, { score: "sigmoid", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      const norms = layer.has("attn_q_norm.weight") ? "before" : undefined;
      attention(layer, layer.norm("attn_norm"), { rope, norms });
      // For all its name, the norm before the feed-forward layer.
      denseOrExperts(layer, layer.norm("post_attention_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};
