import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting, sharedExperts } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * DeepSeek's first mixture of experts (Dai et al. 2024, arXiv:2401.06066): many small experts whose shares do not add
 * up to 1, some that every token has, and layers without experts first.
 */
export const deepseek: Architecture = {
  name: "deepseek",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const rope = readRope(model, "interleaved");
    const routing = requireRouting(parameters, { score: "softmax", normalise: false });
    const dense = parameters.countOrNone("leading_dense_block_count", 0);
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = layer.norm("ffn_norm");
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

/** Ling and Ring 1 and 1.5 (inclusionAI 2025, arXiv:2503.05139): the same; files say that shares are normalised. */
export const bailingmoe: Architecture = { name: "bailingmoe", read: deepseek.read };
