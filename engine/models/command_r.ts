import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Command R (Cohere 2024): attention and feed-forward layer see the same norm of the stream, side by side; the
 * logits have a multiplier. Command R+ normalises the heads of q and k.
 */
export const commandR: Architecture = {
  name: "command-r",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      const normed = layer.norm("attn_norm");
      const norms = layer.has("attn_q_norm.weight") ? "own" : undefined;
      attention(layer, normed, { rope, norms });
      feedForward(layer, normed, { activation: "silu" });
    }
    return model.finish({ scale: model.parameters.positive("logit_scale", 1) });
  },
};
