import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Gemma (Gemma Team 2024, arXiv:2403.08295): Llama with GELU, and embeddings multiplied by sqrt(hidden size). */
export const gemma: Architecture = {
  name: "gemma",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");

    model.embed({ scale: Math.sqrt(model.hiddenSize) });
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh" });
    }
    return model.finish();
  },
};
