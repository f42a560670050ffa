import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

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
