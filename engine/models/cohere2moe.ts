import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting, sharedExperts } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { Hyperparameters } from "./parts/hyperparameters.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * North Mini (Cohere 2026): Command A with experts, whose sum and that of the experts that every token has are
 * averaged. Its first layers, without experts, see positions even where they see everything.
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
    const dense = parameters.countOrNone("leading_dense_block_count", 0);
    const scale = parameters.countOrNone("expert_shared_count", 0) > 0 ? 0.5 : 1;
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const blind = window === 0 && layer.index >= dense;
      const normed = layer.norm("attn_norm");
      attention(layer, normed, { rope: blind ? NO_ROPE : rope, window });
      if (layer.index < dense) {
        feedForward(layer, normed, { activation });
      } else {
        experts(layer, normed, { routing, activation, scale });
        sharedExperts(layer, normed, { routing, activation, scale });
      }
    }
    return model.finish({ scale: parameters.positive("logit_scale", 1) });
  },
};
