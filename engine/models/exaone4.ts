import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * EXAONE 4 (LG AI Research 2025, arXiv:2507.11407): norms after every part and none before, and of each head's q and
 * k. The 32B model has windows in three of four layers; the fourth sees everything, and no positions.
 */
export const exaone4: Architecture = {
  name: "exaone4",
  read(gguf) {
    const model = new Transformer(gguf);
    const { stream } = model;
    const localRope = readRope(model, "halves");
    const windows = readWindows(model, 4);
    const windowed = windows.some((window) => window > 0);

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const rope = windowed && window === 0 ? NO_ROPE : localRope;
      const aside = model.aside();
      attention(layer, stream, { rope, window, norms: "before", ...aside });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, stream, { activation: "silu", ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish();
  },
};
