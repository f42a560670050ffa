import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { readRope, unscaled } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Mellum 2 (JetBrains 2026): Qwen 3's experts, with windows in three of four layers, whose positions have a base of
 * their own and are not scaled.
 */
export const mellum: Architecture = {
  name: "mellum",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const globalRope = readRope(model, "halves");
    const localRope = unscaled(
      globalRope,
      parameters.positive("rope.freq_base_swa", globalRope.freqBase),
    );
    const windows = readWindows(model, 4);
    const routing = requireRouting(parameters, { score: "softmax", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const rope = window > 0 ? localRope : globalRope;
      attention(layer, layer.norm("attn_norm"), { rope, window, norms: "before" });
      experts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};
