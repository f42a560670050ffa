import type { Gguf } from "../gguf/mod.ts";
import type { Architecture, Model } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { experts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { mamba2 } from "./parts/mamba2.ts";
import { readStateNumbers } from "./parts/recurrence.ts";
import { NO_ROPE, readRope } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

/**
 * Granite (IBM 2024): Llama with four multipliers: of the embeddings, of what a layer adds to the stream, of
 * attention, and a divisor of the logits.
 */
export const granite: Architecture = { name: "granite", read: (gguf) => read(gguf) };

/** Its mixtures of experts. */
export const granitemoe: Architecture = { name: "granitemoe", read: granite.read };

/** Granite 4's hybrids (IBM 2025), with and without experts: Mamba-2 in the layers without KV heads. */
export const granitehybrid: Architecture = {
  name: "granitehybrid",
  read: (gguf) => read(gguf, { hybrid: true }),
};

/**
 * Granite with windows (IBM 2026): its four multipliers, attention sinks, windows and positions in the layers that the
 * file says; with experts, one that every token has.
 */
export const graniteSwa: Architecture = {
  name: "granite_swa",
  read: (gguf) => read(gguf, { windowed: true }),
};

function read(gguf: Gguf, { hybrid = false, windowed = false } = {}): Model {
  const model = new Transformer(gguf, "rms", { partialLayers: hybrid });
  const { parameters, layers } = model;
  // Granite 4 says so where it has no positions at all.
  const rope = windowed || parameters.flag("rope.scaling.finetuned", true)
    ? readRope(model, "interleaved")
    : NO_ROPE;
  const windows = windowed ? readWindows(model, 4) : undefined;
  const rotated = windowed && parameters.has("attention.rope_pattern")
    ? parameters.pattern("attention.rope_pattern", layers.length)
    : layers.map(() => true);
  const numbers = hybrid ? readStateNumbers(parameters) : undefined;
  const routing = readRouting(parameters, { score: "softmax", normalise: true });
  // Hybrids without experts have the key nevertheless.
  const width = hybrid && routing === undefined
    ? 0
    : parameters.countOrNone("expert_shared_feed_forward_length", 0);
  const gated = windowed ? "up" : "gate";
  const scale = parameters.positive("residual_scale", 1);
  const qkScale = parameters.has("attention.scale")
    ? parameters.positive("attention.scale")
    : undefined;
  const activation = "silu";

  model.embed({ scale: parameters.positive("embedding_scale", 1) });
  for (const layer of layers) {
    const { index } = layer;
    const input = layer.norm("attn_norm");
    if (numbers && layer.shape.kvHeads === 0) mamba2(layer, input, { numbers, scale });
    else {
      attention(layer, input, {
        rope: rotated[index] ? rope : NO_ROPE,
        window: windows?.[index],
        sinks: windowed,
        qkScale,
        scale,
      });
    }
    const normed = layer.norm("ffn_norm");
    if (routing) experts(layer, normed, { routing, activation, scale });
    else feedForward(layer, normed, { activation, scale });
    if (width > 0) {
      feedForward(layer, normed, { activation, scale, gated, suffix: "_shexp", width });
    }
  }
  return model.finish({ scale: 1 / parameters.positive("logit_scale", 1) });
}
