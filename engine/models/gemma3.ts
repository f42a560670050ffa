import { decoder } from "./decoder.ts";
import type { Transformer } from "./parts/transformer.ts";

/**
 * Gemma 2 (Gemma Team 2024, arXiv:2408.00118): norms before and after every part, soft caps of attention and
 * logits, every other layer with a window.
 */
export const gemma2 = decoder("gemma2", {
  norms: "both",
  rope: "halves",
  attention: (model) => ({
    softcap: model.parameters.positive("attn_logit_softcapping", 50),
    qkScale: queryScale(model, 46),
  }),
  windows: { period: 2, fallback: 4096 },
  activation: "gelu_tanh",
  scaledEmbeddings: true,
  logits: ({ parameters }) => ({ softcap: parameters.positive("final_logit_softcapping", 30) }),
});

/**
 * Gemma 3 (Gemma Team 2025, arXiv:2503.19786): Gemma 2 with norms of q and k instead of the soft caps; five of six
 * layers have a window, and their own positions.
 */
export const gemma3 = decoder("gemma3", {
  norms: "both",
  rope: "halves",
  headNorms: "before",
  attention: (model) => ({ qkScale: queryScale(model, 62) }),
  windows: { period: 6 },
  positions: "unscaled",
  localFreqBase: 10000,
  activation: "gelu_tanh",
  scaledEmbeddings: true,
  logits({ parameters }) {
    const softcap = parameters.number("final_logit_softcapping", 0);
    return { softcap: softcap > 0 ? softcap : undefined };
  },
});

/** What q k is multiplied by: the 27B model, of so many layers, has what a head would have of the hidden size. */
function queryScale({ layers, hiddenSize }: Transformer, layersOf27B: number): number {
  const { heads, headDim } = layers[0].shape;
  return 1 / Math.sqrt(layers.length === layersOf27B ? hiddenSize / heads : headDim);
}
