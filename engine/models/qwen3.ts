import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Qwen 3 (Yang et al. 2025, arXiv:2505.09388): norms of each head's q and k, no biases. */
export const qwen3: Architecture = {
  name: "qwen3",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "before" });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};

/** The language model of Qwen 3 VL: a token of text has one position, as in Qwen 3. */
export const qwen3vl: Architecture = { name: "qwen3vl", read: qwen3.read };
