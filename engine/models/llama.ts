import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Llama and what is built like it (Touvron et al. 2023, arXiv:2302.13971): RMS norms, grouped-query
 * attention with rotary positions, a SiLU-gated feed-forward layer, and, where the file has experts,
 * Mixtral's mixture of them (Jiang et al. 2024, arXiv:2401.04088).
 */
export const llama: Architecture = {
  name: "llama",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");
    const routing = readRouting(model.parameters, { score: "softmax", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = layer.norm("ffn_norm");
      if (routing) experts(layer, normed, { routing, activation: "silu" });
      else feedForward(layer, normed, { activation: "silu" });
    }
    return model.finish();
  },
};
