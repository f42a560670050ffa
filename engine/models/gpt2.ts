import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** GPT-2 (Radford et al. 2019): LayerNorm, biases everywhere, a table of positions. */
export const gpt2: Architecture = {
  name: "gpt2",
  read(gguf) {
    const model = new Transformer(gguf, "layer");

    model.embed({ positions: "position_embd.weight" });
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope: NO_ROPE });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh", gated: "none" });
    }
    return model.finish();
  },
};
