import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Trinity (Arcee 2025): experts chosen by sigmoids and a bias, norms before and after every part, attention whose
 * result passes a gate; windows in three of four layers, while the fourth sees everything, and no positions.
 */
export const afmoe: Architecture = {
  name: "afmoe",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, hiddenSize } = model;
    const localRope = readRope(model, "halves");
    const windows = readWindows(model, 4);
    const routing = requireRouting(parameters, { score: "sigmoid", normalise: true });
    const activation = "silu";

    model.embed({ scale: Math.sqrt(hiddenSize) });
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const rope = window > 0 ? localRope : NO_ROPE;
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), {
        rope,
        window,
        norms: "before",
        gated: true,
        ...aside,
      });
      layer.addNormed("post_attention_norm", aside.into);
      const normed = layer.norm("ffn_norm");
      if (layer.index < routing.denseLayers) {
        feedForward(layer, normed, { activation, ...aside });
      } else {
        // The norm is one of both kinds of experts together.
        experts(layer, normed, {
          routing,
          activation,
          sharedWidth: routing.sharedWidth,
          ...aside,
        });
      }
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish();
  },
};
