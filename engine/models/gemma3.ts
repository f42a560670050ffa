import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope, unscaled } from "./parts/rope.ts";
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

/**
 * Gemma 3 (Gemma Team 2025, arXiv:2503.19786): Gemma 2 with norms of q and k instead of the soft caps; five of six
 * layers have a window, and their own positions.
 */
export const gemma3: Architecture = {
  name: "gemma3",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, hiddenSize, layers } = model;
    const globalRope = readRope(model, "halves");
    const localRope = unscaled(globalRope, parameters.positive("rope.freq_base_swa", 10000));
    const windows = readWindows(model, 6);
    // The 27B model's queries are scaled by what a head would have of the hidden size.
    const { heads, headDim } = layers[0].shape;
    const qkScale = 1 / Math.sqrt(layers.length === 62 ? hiddenSize / heads : headDim);

    model.embed({ scale: Math.sqrt(hiddenSize) });
    for (const layer of layers) {
      const window = windows[layer.index];
      const rope = window > 0 ? localRope : globalRope;
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), {
        rope,
        window,
        qkScale,
        norms: "before",
        ...aside,
      });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh", ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    const softcap = parameters.number("final_logit_softcapping", 0);
    return model.finish({ softcap: softcap > 0 ? softcap : undefined });
  },
};
