import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** GLM-4-0414 (Zhipu AI 2025): norms before and after every part, half of each head rotated. */
export const glm4: Architecture = {
  name: "glm4",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), { rope, ...aside });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", gated: "up", ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish();
  },
};
