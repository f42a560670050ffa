import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope, readTemperature } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** Ministral 3 (Mistral AI 2025): Llama, with YaRN and attention that gets sharper far into a text. */
export const mistral3: Architecture = {
  name: "mistral3",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");
    const temperature = readTemperature(model);

    model.embed();
    for (const layer of model.layers) {
      attention(layer, layer.norm("attn_norm"), { rope, temperature });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};
