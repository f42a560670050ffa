import type { Architecture } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * GPT-NeoX and Pythia (Black et al. 2022, arXiv:2204.06745): attention and feed-forward layer side by side, each with
 * a norm of its own, or one after the other as the file says.
 */
export const gptneox: Architecture = {
  name: "gptneox",
  read(gguf) {
    const model = new Transformer(gguf, "layer");
    const { stream } = model;
    const rope = readRope(model, "halves");
    const parallel = model.parameters.flag("use_parallel_residual", true);

    model.embed();
    for (const layer of model.layers) {
      const unattended = parallel
        ? layer.norm("ffn_norm", stream, "normed in parallel")
        : undefined;
      attention(layer, layer.norm("attn_norm"), { rope });
      const normed = unattended ?? layer.norm("ffn_norm");
      feedForward(layer, normed, { activation: "gelu_erf", gated: "none" });
    }
    return model.finish();
  },
};
