import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** SmolLM3 (Hugging Face 2025): Llama, but that every fourth layer sees no positions. */
export const smollm3: Architecture = {
  name: "smollm3",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "interleaved");

    model.embed();
    for (const layer of model.layers) {
      const blind = layer.index % 4 === 3;
      attention(layer, layer.norm("attn_norm"), { rope: blind ? NO_ROPE : rope });
      feedForward(layer, layer.norm("ffn_norm"), { activation: "silu" });
    }
    return model.finish();
  },
};
