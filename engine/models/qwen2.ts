import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Qwen 1.5, 2 and 2.5 (Yang et al. 2024, arXiv:2407.10671): Llama, but for biases of q, k and v and for which
 * values of a head are rotated together.
 */
export const qwen2: Architecture = {
  name: "qwen2",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};

/** The language model of Qwen 2 and 2.5 VL: a token of text has one position, as in Qwen 2. */
export const qwen2vl: Architecture = { name: "qwen2vl", read: qwen2.read };
