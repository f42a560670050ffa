import type { Architecture } from "./model.ts";
import { mamba2 as mamba2Layer } from "./parts/mamba2.ts";
import { readStateNumbers } from "./parts/recurrence.ts";
import { Transformer } from "./parts/transformer.ts";

/** Mamba-2 (Dao and Gu 2024, arXiv:2405.21060): states alone, no attention, and no feed-forward layers. */
export const mamba2: Architecture = {
  name: "mamba2",
  read(gguf) {
    const model = new Transformer(gguf, "rms", { partialLayers: true });
    const numbers = readStateNumbers(model.parameters);

    model.embed();
    for (const layer of model.layers) mamba2Layer(layer, layer.norm("attn_norm"), { numbers });
    return model.finish();
  },
};
