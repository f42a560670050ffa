import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Experts of the one model that does not normalise q and k (Maverick); no key of its file says so. */
const EXPERTS_WITHOUT_NORMS = 128;

/**
 * Llama 4 (Meta 2025): three of four layers look back to the start of their chunk of tokens; the fourth sees everything
 * and no positions, with attention that gets sharper far into a text. A token has one expert, whose weight multiplies
 * the expert's input, and a shared one; layers with and without experts alternate as the file says.
 */
export const llama4: Architecture = {
  name: "llama4",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, normEpsilon: epsilon } = model;
    const localRope = readRope(model, "interleaved");
    // 0: every layer sees everything, and positions.
    const chunk = parameters.countOrNone("attention.sliding_window", 8192);
    const temperature = {
      scale: parameters.number("attention.temperature_scale", 0.1),
      length: parameters.count("attention.temperature_length", 8192),
      offset: 1,
    };
    const routing = requireRouting(parameters, { score: "sigmoid", normalise: false });
    const norms = routing.count === EXPERTS_WITHOUT_NORMS
      ? undefined
      : { order: "after", epsilon } as const;
    const every = parameters.count("interleave_moe_layer_step");
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      const local = chunk === 0 || layer.index % 4 !== 3;
      attention(
        layer,
        layer.norm("attn_norm"),
        local ? { rope: localRope, chunk, norms } : { rope: NO_ROPE, temperature },
      );
      const normed = layer.norm("ffn_norm");
      if (layer.index % every === every - 1) {
        experts(layer, normed, {
          routing,
          activation,
          shares: "inputs",
          sharedWidth: routing.width,
        });
      } else {
        feedForward(layer, normed, { activation });
      }
    }
    return model.finish();
  },
};
