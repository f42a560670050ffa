import type { Architecture, Model } from "./model.ts";
import type { Gguf } from "../gguf/mod.ts";
import { attention } from "./parts/attention.ts";
import { deltaNet, type DeltaNetOptions } from "./parts/delta_net.ts";
import { gatedSharedExperts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readRecurrentLayers, readStateNumbers } from "./parts/recurrence.ts";
import { readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * Qwen 3.5 and 3.6 (Qwen 2026): gated delta nets in three of four layers, attention whose result passes a gate in the
 * fourth. Positions have sections for pictures, which for text are one.
 */
export const qwen35: Architecture = { name: "qwen35", read: (gguf) => read(gguf, "cycled") };

/** Their mixtures of experts. */
export const qwen35moe: Architecture = { name: "qwen35moe", read: qwen35.read };

/** Qwen3-Next (Qwen 2025): the same with experts, but for which head of K a head of V has. */
export const qwen3next: Architecture = {
  name: "qwen3next",
  read: (gguf) => read(gguf, "grouped"),
};

function read(gguf: Gguf, order: DeltaNetOptions["order"]): Model {
  const model = new Transformer(gguf, "rms", { partialLayers: true });
  const { parameters } = model;
  const rope = readRope(model, "halves");
  const recurrent = readRecurrentLayers(model);
  const numbers = readStateNumbers(parameters);
  const routing = readRouting(parameters, { score: "softmax", normalise: true });
  const sharedWidth = parameters.countOrNone("expert_shared_feed_forward_length", 0);
  const activation = "silu";

  model.embed();
  for (const layer of model.layers) {
    const normed = layer.norm("attn_norm");
    if (recurrent[layer.index]) deltaNet(layer, normed, { numbers, order });
    else attention(layer, normed, { rope, norms: "before", gated: "query" });
    // For all its name, the norm before the feed-forward layer.
    const attended = layer.norm("post_attention_norm");
    if (routing) gatedSharedExperts(layer, attended, { routing, activation, sharedWidth });
    else feedForward(layer, attended, { activation });
  }
  return model.finish();
}
