import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * MiniMax M2 (MiniMax 2025): experts chosen by sigmoids and a bias; q and k are normalised over all of their heads,
 * of which a part is rotated.
 */
export const minimaxM2: Architecture = {
  name: "minimax-m2",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const routing = requireRouting(model.parameters, { score: "sigmoid", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "row" });
      experts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};
