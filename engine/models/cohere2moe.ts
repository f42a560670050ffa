import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { denseOrExperts, requireRouting } from "./parts/experts.ts";
import { Hyperparameters } from "./parts/hyperparameters.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * North Mini (Cohere 2026): Command A with experts; their sum and the shared experts' sum are averaged. Its first
 * layers, without experts, see positions even where they see everything.
 */
export const cohere2moe: Architecture = {
  name: "cohere2moe",
  read(gguf) {
    const rms = new Hyperparameters(gguf).number("attention.layer_norm_rms_epsilon", 0) > 0;
    const model = new Transformer(gguf, rms ? "rms" : "layer");
    const { parameters } = model;
    const rope = readRope(model, "interleaved");
    const windows = readWindows(model, 4);
    const routing = requireRouting(parameters, { score: "sigmoid", normalise: false });
    const scale = routing.sharedWidth > 0 ? 0.5 : 1;

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const blind = window === 0 && layer.index >= routing.denseLayers;
      const normed = layer.norm("attn_norm");
      attention(layer, normed, { rope: blind ? NO_ROPE : rope, window });
      denseOrExperts(layer, normed, { routing, activation: "silu", scale });
    }
    return model.finish({ scale: parameters.positive("logit_scale", 1) });
  },
};
