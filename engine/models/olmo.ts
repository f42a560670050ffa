import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope, unscaled } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/** OLMo (Groeneveld et al. 2024, arXiv:2402.00838): Llama, with LayerNorms that have no weights. */
export const olmo: Architecture = {
  name: "olmo",
  read(gguf) {
    const model = new Transformer(gguf, "plain");
    const { parameters } = model;
    if (parameters.number("attention.clamp_kqv", 0) > 0) {
      throw parameters.unsupported("attention.clamp_kqv, which keeps q, k and v within bounds");
    }
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};

/**
 * OLMo 2 (OLMo Team 2024, arXiv:2501.00656) and 3: norms after every part and none before; q and k are normalised
 * over all of their heads. OLMo 3 has windows in three of four layers, whose positions YaRN does not scale.
 */
export const olmo2: Architecture = {
  name: "olmo2",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, stream } = model;
    const globalRope = readRope(model, "halves");
    const localRope = unscaled(
      globalRope,
      parameters.positive("rope.freq_base_swa", globalRope.freqBase),
    );
    const windows = readWindows(model, 4);

    model.embed();
    for (const layer of model.layers) {
      const window = windows[layer.index];
      const rope = window > 0 ? localRope : globalRope;
      const aside = model.aside();
      attention(layer, stream, { rope, window, norms: "row", ...aside });
      layer.addNormed("post_attention_norm", aside.into);
      feedForward(layer, stream, { activation: "silu", ...aside });
      layer.addNormed("post_ffw_norm", aside.into);
    }
    return model.finish();
  },
};
