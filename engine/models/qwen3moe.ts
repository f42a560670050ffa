import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** The mixtures of experts of Qwen 3 (Yang et al. 2025, arXiv:2505.09388). */
export const qwen3moe: Architecture = {
  name: "qwen3moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const routing = requireRouting(model.parameters, { score: "softmax", normalise: true });

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "before" });
      experts(layer, layer.norm("ffn_norm"), { routing, activation: "silu" });
    }
    return model.finish();
  },
};

/** Those of Qwen 3 VL. */
export const qwen3vlmoe: Architecture = { name: "qwen3vlmoe", read: qwen3moe.read };
