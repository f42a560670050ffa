import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Gemma 2 (Gemma Team 2024, arXiv:2408.00118): norms before and after every part, soft caps of attention and
 * logits, every other layer with a window.
 */
export const gemma2: Architecture = {
  name: "gemma2",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, hiddenSize, layers } = model;
    const rope = readRope(model, "halves");
    const windows = readWindows(model, 2, 4096);
    const softcap = parameters.positive("attn_logit_softcapping", 50);
    // The 27B model's queries are scaled by what a head would have of the hidden size.
    const { heads, headDim } = layers[0].shape;
    const qkScale = 1 / Math.sqrt(layers.length === 46 ? hiddenSize / heads : headDim);

    model.embed({ scale: Math.sqrt(hiddenSize) });
    for (const layer of layers) {
      const window = windows[layer.index];
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), { rope, window, softcap, qkScale, ...aside });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh", ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish({ softcap: parameters.positive("final_logit_softcapping", 30) });
  },
};
