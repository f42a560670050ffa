import type { Gguf } from "../gguf/mod.ts";
import type { Architecture, Model } from "./model.ts";
import { attention } from "./parts/attention.ts";
import { denseOrExperts, readRouting } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readKernel } from "./parts/recurrence.ts";
import { readRope } from "./parts/rope.ts";
import { shortConv } from "./parts/short_conv.ts";
import { Transformer } from "./parts/transformer.ts";

/**
 * LFM2 (Liquid AI 2025, arXiv:2511.23404): convolutions over a few tokens in most layers, attention in the others, which are
 * those with KV heads.
 */
export const lfm2: Architecture = { name: "lfm2", read };

/** Its mixtures of experts: chosen by sigmoids and a bias; the first layers have none. */
export const lfm2moe: Architecture = { name: "lfm2moe", read };

function read(gguf: Gguf): Model {
  const model = new Transformer(gguf, "rms", { partialLayers: true });
  const { parameters } = model;
  const rope = readRope(model, "halves");
  const kernel = readKernel(parameters, "shortconv.l_cache");
  const routing = readRouting(parameters, { score: "sigmoid", normalise: true });
  const activation = "silu";

  model.embed();
  for (const layer of model.layers) {
    const normed = layer.norm("attn_norm");
    if (layer.shape.kvHeads > 0) attention(layer, normed, { rope, norms: "before" });
    else shortConv(layer, normed, kernel);
    const attended = layer.norm("ffn_norm");
    if (routing) denseOrExperts(layer, attended, { routing, activation });
    else feedForward(layer, attended, { activation });
  }
  // For all its name, the last norm.
  return model.finish({ norm: "token_embd_norm" });
}
