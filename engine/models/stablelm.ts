import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * StableLM (Stability AI 2023): Llama with LayerNorm, where a part of each head is rotated. StableLM 2 12B has
 * attention and feed-forward layer side by side, behind one norm, and a norm for each head of q and k.
 */
export const stablelm: Architecture = {
  name: "stablelm",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      const norms = layer.has("attn_q_norm.weight") ? "own" : undefined;
      const normed = layer.norm("attn_norm");
      attention(layer, normed, { rope, norms });
      feedForward(
        layer,
        layer.has("ffn_norm.weight") ? layer.norm("ffn_norm") : normed,
        { activation: "silu" },
      );
    }
    return model.finish();
  },
};
