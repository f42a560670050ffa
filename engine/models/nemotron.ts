import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Nemotron 3, 4 and Minitron (NVIDIA 2024, arXiv:2402.16819): LayerNorm, and a squared ReLU instead of a gate. */
export const nemotron: Architecture = {
  name: "nemotron",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = layer.norm("ffn_norm");
      feedForward(layer, normed, { activation: "relu_squared", gated: "none" });
    }
    return model.finish();
  },
};
