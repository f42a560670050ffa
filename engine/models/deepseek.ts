import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { denseOrExperts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * DeepSeek's first mixture of experts (Dai et al. 2024, arXiv:2401.06066): many small experts whose weights do not add
 * up to 1, some shared ones, and layers without experts first.
 */
export const deepseek: Architecture = {
  name: "deepseek",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");
    const routing = requireRouting(model.parameters, { score: "softmax", normalise: false });

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      denseOrExperts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};

/** Ling and Ring 1 and 1.5 (inclusionAI 2025, arXiv:2503.05139): the same; files say that shares are normalised. */
export const bailingmoe: Architecture = { name: "bailingmoe", read: deepseek.read };
