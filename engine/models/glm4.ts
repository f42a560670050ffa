import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * GLM-4-0414 (Zhipu AI 2025): norms before and after every part, half of each head rotated. Where positions have sections
 * for pictures (GLM-4.1V, GLM-OCR), q and k are ordered so that halves of a head are pairs.
 */
export const glm4: Architecture = {
  name: "glm4",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, hasSections(model) ? "halves" : "interleaved");

    model.embed();
    for (const layer of model.layers) {
      const gated = layer.has("ffn_gate.weight") ? "gate" : "up";
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), { rope, ...aside });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", gated, ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish();
  },
};

/** Whether positions have sections, of which an image's rows and columns have some. */
function hasSections({ gguf, parameters }: Transformer): boolean {
  const key = "rope.dimension_sections";
  if (!parameters.has(key)) return false;
  const [time, height] = gguf.metadata.numbers(parameters.key(key));
  return time > 0 && height > 0;
}
