import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * ChatGLM 3, GLM-4 and GLM-Edge (GLM Team 2024, arXiv:2406.12793): Llama with gate and up in one weight, where half of
 * each head is rotated.
 */
export const chatglm: Architecture = {
  name: "chatglm",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", gated: "up" });
    }
    return model.finish();
  },
};
