import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Falcon (Almazrouei et al. 2023, arXiv:2311.16867): attention and feed-forward layer side by side. They see the same
 * norm, or, where the file has two (40B), one each.
 */
export const falcon: Architecture = {
  name: "falcon",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      const normed = layer.norm("attn_norm", model.stream, "normed in parallel");
      const attended = layer.has("attn_norm_2.weight") ? layer.norm("attn_norm_2") : normed;
      attention(layer, attended, { rope });
      feedForward(layer, normed, { activation: "gelu_erf", gated: "none" });
    }
    return model.finish();
  },
};
