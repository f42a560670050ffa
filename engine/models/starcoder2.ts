import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** StarCoder2 (Lozhkov et al. 2024, arXiv:2402.19173): LayerNorm and biases, rotary positions, no gate. */
export const starcoder2: Architecture = {
  name: "starcoder2",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh", gated: "none" });
    }
    return model.finish();
  },
};
