import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** AFM (Arcee 2025): Llama, with a squared ReLU instead of a gate. */
export const arcee: Architecture = {
  name: "arcee",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = layer.norm("ffn_norm");
      feedForward(layer, normed, { activation: "relu_squared", gated: "none" });
    }
    return model.finish();
  },
};
