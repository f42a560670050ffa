import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * gpt-oss (OpenAI 2025, arXiv:2508.10925): experts with biases and a clamped SwiGLU, attention sinks, every other
 * layer with a window of 128 tokens.
 */
export const gptOss: Architecture = {
  name: "gpt-oss",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const windows = readWindows(model, 2, 128);
    const routing = requireRouting(model.parameters, { score: "softmax_chosen", normalise: false });

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      attention(layer, layer.norm("attn_norm"), { rope, window, sinks: true });
      // For all its name, the norm before the experts.
      experts(layer, layer.norm("post_attention_norm"), {
        routing,
        activation: "swiglu_clamped",
        alpha: 1.702,
        limit: 7,
      });
    }
    return model.finish();
  },
};
