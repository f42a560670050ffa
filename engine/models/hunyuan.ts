import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, requireRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Hunyuan's dense models (Tencent 2025): Llama, with norms of each head's q and k behind their rotation. */
export const hunyuanDense: Architecture = {
  name: "hunyuan-dense",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "after" });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};

/** Its mixture of experts (Hunyuan-A13B), with one that every token has. */
export const hunyuanMoe: Architecture = {
  name: "hunyuan-moe",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const routing = requireRouting(model.parameters, { score: "softmax", normalise: true });
    const activation = "silu";

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, norms: "after" });
      const normed = layer.norm("ffn_norm");
      experts(layer, normed, { routing, activation, sharedWidth: routing.sharedWidth });
    }
    return model.finish();
  },
};
