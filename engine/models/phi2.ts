import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Phi 1, 1.5 and 2 (Microsoft 2023, arXiv:2309.05463): attention and feed-forward layer see the same norm of the
 * stream, side by side; biases everywhere, and a part of each head is rotated.
 */
export const phi2: Architecture = {
  name: "phi2",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      const normed = layer.norm("attn_norm");
      attention(layer, normed, { rope });
      feedForward(layer, normed, { activation: "gelu_tanh", gated: "none" });
    }
    return model.finish();
  },
};
