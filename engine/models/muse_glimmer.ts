import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/** Of the norms after every part; no key of a file says it. */
const POST_EPSILON = 1e-8;

/**
 * Muse Glimmer (Meta 2026): embeddings are normalised, norms stand before and after every part, and what was attended
 * passes a gate. Three of four layers have a window; the fourth sees everything, and no positions.
 */
export const museGlimmer: Architecture = {
  name: "muse-glimmer",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, program, stream, normEpsilon: epsilon } = model;
    const localRope = readRope(model, "interleaved");
    const windows = readWindows(model, 4);
    const added = { residual: stream, epsilon: POST_EPSILON };

    model.embed();
    program.norm(stream, stream, { epsilon });
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const rope = window > 0 ? localRope : NO_ROPE;
      const aside = model.aside();
      attention(layer, layer.norm("attn_norm"), {
        rope,
        window,
        norms: "before",
        gated: true,
        ...aside,
      });
      model.norm(layer.name("post_attention_norm"), aside.into, stream, added);
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu", ...aside });
      model.norm(layer.name("post_ffw_norm"), aside.into, stream, added);
    }
    return model.finish({
      scale: parameters.positive("logit_scale", 1),
      softcap: parameters.has("final_logit_softcapping")
        ? parameters.positive("final_logit_softcapping")
        : undefined,
    });
  },
};
