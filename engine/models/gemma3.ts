import type { Architecture } from "./model.ts";
import { attention, type AttentionOptions } from "./parts/attention.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readLocalRope, readRope } from "./parts/rope.ts";
import { type Layer, Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Gemma 2 (Gemma Team 2024, arXiv:2408.00118): norms before and after every part, soft caps of attention and
 * logits, every other layer with a window.
 */
export const gemma2: Architecture = {
  name: "gemma2",
  read(gguf) {
    const model = new Transformer(gguf);
    const rope = readRope(model, "halves");
    const windows = readWindows(model, 2, 4096);
    const softcap = model.parameters.positive("attn_logit_softcapping", 50);
    writeLayers(model, 46, ({ index }) => ({ rope, window: windows[index], softcap }));
    return model.finish({ softcap: model.parameters.positive("final_logit_softcapping", 30) });
  },
};

/**
 * Gemma 3 (Gemma Team 2025, arXiv:2503.19786): Gemma 2 with norms of q and k instead of the soft caps; five of six
 * layers have a window, and their own positions.
 */
export const gemma3: Architecture = {
  name: "gemma3",
  read(gguf) {
    const model = new Transformer(gguf);
    const globalRope = readRope(model, "halves");
    const localRope = readLocalRope(model, globalRope, 10000);
    const windows = readWindows(model, 6);
    writeLayers(model, 62, ({ index }) => ({
      rope: windows[index] > 0 ? localRope : globalRope,
      window: windows[index],
      norms: "before",
    }));
    const softcap = model.parameters.number("final_logit_softcapping", 0);
    return model.finish({ softcap: softcap > 0 ? softcap : undefined });
  },
};

/**
 * The embeddings and layers of both.
 *
 * @param layersOf27B The model of so many scales its queries by what a head would have of the hidden size.
 * @param attentionOf How a layer's attention differs.
 */
function writeLayers(
  model: Transformer,
  layersOf27B: number,
  attentionOf: (layer: Layer) => AttentionOptions,
): void {
  const { hiddenSize, layers } = model;
  const { heads, headDim } = layers[0].shape;
  const qkScale = 1 / Math.sqrt(layers.length === layersOf27B ? hiddenSize / heads : headDim);

  model.embed({ scale: Math.sqrt(hiddenSize) });
  for (const layer of layers) {
    const aside = model.aside();
    attention(layer, layer.norm("attn_norm"), { ...attentionOf(layer), qkScale, ...aside });
    layer.addNormed("post_attention_norm", aside.into);
    feedForward(layer, layer.norm("ffn_norm"), { activation: "gelu_tanh", ...aside });
    layer.addNormed("post_ffw_norm", aside.into);
  }
}
