import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readLongRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Phi 3 and 4 (Abdin et al. 2024, arXiv:2404.14219): Llama with q, k, v in one weight, and gate and up in another;
 * those for long contexts have two sets of rotary factors.
 */
export const phi3: Architecture = {
  name: "phi3",
  read(gguf, options) {
    const model = new Transformer(gguf);
    const rope = readLongRope(model, "halves", options?.contextTokens);
    // 0 in a file is no window.
    const window = model.parameters.countOrNone("attention.sliding_window", 0);

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, window });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", gated: "up" });
    }
    return model.finish();
  },
};
