import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Granite with windows (IBM 2026): its four multipliers, attention sinks, windows and positions in the layers that the
 * file says; with experts, one that every token has.
 */
export const graniteSwa: Architecture = {
  name: "granite_swa",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, layers } = model;
    const rope = readRope(model, "interleaved");
    const windows = readWindows(model, 4);
    const rotated = parameters.has("attention.rope_pattern")
      ? parameters.pattern("attention.rope_pattern", layers.length)
      : layers.map(() => true);
    const routing = readRouting(parameters, { score: "softmax", normalise: true });
    const shared = parameters.countOrNone("expert_shared_feed_forward_length", 0);
    const scale = parameters.positive("residual_scale", 1);
    const qkScale = parameters.has("attention.scale")
      ? parameters.positive("attention.scale")
      : undefined;
    const activation = "silu";

    model.embed({ scale: parameters.positive("embedding_scale", 1) });
    for (const layer of layers) {
      attention(layer, layer.norm("attn_norm"), {
        rope: rotated[layer.index] ? rope : NO_ROPE,
        window: windows[layer.index],
        sinks: true,
        qkScale,
        scale,
      });
      const normed = layer.norm("ffn_norm");
      if (routing) experts(layer, normed, { routing, activation, scale });
      else feedForward(layer, normed, { activation, scale });
      if (shared > 0) {
        feedForward(layer, normed, {
          activation,
          scale,
          gated: "up",
          suffix: "_shexp",
          width: shared,
        });
      }
    }
    return model.finish({ scale: 1 / parameters.positive("logit_scale", 1) });
  },
};
