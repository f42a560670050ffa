import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { denseOrExperts, requireRouting } from "./parts/experts.ts";
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
    const rope = readRope(model, "halves");
    const routing = requireRouting(model.parameters, { score: "sigmoid", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "before" });
      denseOrExperts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};
