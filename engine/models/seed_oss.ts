import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Seed-OSS (ByteDance 2025): Qwen 2, with another name for the norm before the feed-forward layer. */
export const seedOss: Architecture = {
  name: "seed_oss",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("post_attention_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};
