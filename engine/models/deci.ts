import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * DeciLM and Nemotron Super and Ultra (Bercovich et al. 2024, arXiv:2411.19146): Llamas out of which a search has taken
 * what they can do without. A layer may have no attention, or a product instead, and no feed-forward layer.
 */
export const deci: Architecture = {
  name: "deci",
  read(gguf) {
    const model = new Transformer(gguf, "rms", { partialLayers: true });
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      const { heads, kvHeads } = layer.shape;
      if (kvHeads > 0) {
        attention(layer, layer.norm("attn_norm"), { rope });
      } else if (heads > 0) {
        model.project(
          layer.norm("attn_norm"),
          layer.weight("attn_output", model.hiddenSize),
          {},
        );
      }
      if (layer.feedForward > 0) {
        feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
      }
    }
    return model.finish();
  },
};
