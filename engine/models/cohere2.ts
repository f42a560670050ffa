import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Command R7B and Command A (Cohere 2025, arXiv:2504.00698): Command R with a window in three of four layers; the
 * fourth sees everything, and no positions.
 */
export const cohere2: Architecture = {
  name: "cohere2",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const localRope = readRope(model, "interleaved");
    const windows = readWindows(model, 4, 4096);

    model.embed();
    for (const layer of model.layers) {
      const normed = layer.norm("attn_norm");
      const window = windows[layer.index];
      attention(layer, normed, { rope: window > 0 ? localRope : NO_ROPE, window });
      feedForward(layer, normed, { activation: "silu" });
    }
    return model.finish({ scale: model.parameters.positive("logit_scale", 1) });
  },
};
