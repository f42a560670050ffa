import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting, sharedExperts } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * dots.llm1 (rednote 2025, arXiv:2506.05767): experts chosen by sigmoids and a bias, some that every token has, and
 * layers without experts first.
 */
export const dots1: Architecture = {
  name: "dots1",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const rope = readRope(model, "halves");
    const routing = requireRouting(parameters, { score: "sigmoid", normalise: true });
    const dense = parameters.countOrNone("leading_dense_block_count", 0);
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "before" });
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
