import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readLongRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * MiniCPM 1, 2 and 4 (Hu et al. 2024, arXiv:2404.06395): Llama with multipliers of the embeddings and of what a layer adds
 * to the stream, and a divisor of the logits. Files of the first models do not say them.
 */
export const minicpm: Architecture = {
  name: "minicpm",
  read(gguf, options) {
    const model = new Transformer(gguf);
    const { parameters, hiddenSize, layers } = model;
    const rope = readLongRope(model, "interleaved", options?.contextTokens);
    const scale = parameters.positive("residual_scale", 1.4 / Math.sqrt(layers.length));

    model.embed({ scale: parameters.positive("embedding_scale", 12) });
    for (const layer of layers) {
      attention(layer, layer.norm("attn_norm"), { rope, scale });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", scale });
    }
    return model.finish({ scale: 1 / parameters.positive("logit_scale", hiddenSize / 256) });
  },
};
