import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { gatedSharedExperts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Qwen 1.5 and 2's mixtures of experts (Yang et al. 2024, arXiv:2407.10671). The weights of the chosen experts do not
 * add up to 1, and a gate multiplies the shared expert.
 */
export const qwen2moe: Architecture = {
  name: "qwen2moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters } = model;
    const rope = readRope(model, "halves");
    const routing = requireRouting(parameters, { score: "softmax", normalise: false });
    const sharedWidth = parameters.count(
      "expert_shared_feed_forward_length",
      model.layers[0].feedForward,
    );

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      gatedSharedExperts(layer, layer.norm("ffn_norm"), {
        routing,
        activation: "silu",
        sharedWidth,
      });
    }
    return model.finish();
  },
};
