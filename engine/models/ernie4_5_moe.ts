import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * ERNIE 4.5's mixtures of experts (Baidu 2025), chosen with a bias that is added to softmax's scores; a few layers without experts first,
 * and then every so many with them.
 */
export const ernie4_5Moe: Architecture = {
  name: "ernie4_5-moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const rope = readRope(model, "interleaved");
    const routing = requireRouting(parameters, { score: "softmax", normalise: true });
    const every = parameters.count("interleave_moe_layer_step");
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = layer.norm("ffn_norm");
      if (layer.index >= routing.denseLayers && layer.index % every === every - 1) {
        experts(layer, normed, { routing, activation, sharedWidth: routing.sharedWidth });
      } else {
        feedForward(layer, normed, { activation });
      }
    }
    return model.finish();
  },
};
