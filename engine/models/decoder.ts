import type { ActivationName, Buffer } from "../program/mod.ts";
import type { Architecture } from "./model.ts";
import { attention, type AttentionOptions } from "./parts/attention.ts";
import {
  denseOrExperts,
  experts,
  type ExpertsOptions,
  gatedSharedExperts,
  readRouting,
  requireRouting,
  type Routing,
} from "./parts/experts.ts";
import { feedForward, type FeedForwardOptions } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope, readTemperature } from "./parts/rope.ts";
import { type Destination, type Layer, Transformer } from "./parts/transformer.ts";
import { readSpans, type SpanOptions } from "./parts/windows.ts";

/** How a model whose layers are all alike, but for windows and experts, differs from a dense Llama. */
export interface DecoderOptions extends SpanOptions {
  /** The kind of its norms; "rms" where absent. */
  readonly norm?: "rms" | "layer" | "plain";
  /** Where norms stand: before every part, where absent; after every part instead; or both. */
  readonly norms?: "after" | "both";
  /** Which values of a head are rotated together; "none": positions have a table of embeddings. */
  readonly rope: "halves" | "interleaved" | "none";
  /** Norms of q and k. */
  readonly headNorms?: AttentionOptions["norms"];
  /** The same, where the file has them. */
  readonly optionalHeadNorms?: AttentionOptions["norms"];
  /** Whether attention gets sharper far into a text. */
  readonly temperature?: boolean;
  /** What else is different about attention. */
  readonly attention?: (
    model: Transformer,
  ) => Pick<AttentionOptions, "sinks" | "gated" | "softcap" | "qkScale">;
  /**
   * Whether the feed-forward layer sees the same norm of the stream as attention; "unless normed": where the file has
   * no norm of its own for it.
   */
  readonly parallel?: boolean | "unless normed";
  /** The norm before the feed-forward layer; `ffn_norm` where absent. */
  readonly secondNorm?: string;
  /** "silu" where absent. */
  readonly activation?: ActivationName;
  readonly gated?: FeedForwardOptions["gated"];
  readonly experts?: ExpertLayers;
  /** Whether embeddings are multiplied by sqrt(hidden size). */
  readonly scaledEmbeddings?: boolean;
  /** What becomes of logits, see {@link Transformer.finish}. */
  readonly logits?: (model: Transformer) => { readonly scale?: number; readonly softcap?: number };
}

/** How experts are chosen where a file does not say, and which layers have them. */
interface ExpertLayers
  extends Pick<Routing, "score" | "normalise">, Pick<ExpertsOptions, "alpha" | "limit"> {
  /**
   * "optional": all or none, as the file says; "all"; "all shared": all, with experts that every token has; "all gated":
   * the same, behind a gate; "later": all but the first layers, with such experts; "in turn": of these every so many.
   */
  readonly layers: "optional" | "all" | "all shared" | "all gated" | "later" | "in turn";
}

/** An architecture whose layers are all attention, and a feed-forward layer or experts, with a norm each. */
export function decoder(name: string, options: DecoderOptions): Architecture {
  const { norm, norms: place, rope: kind, parallel, secondNorm = "ffn_norm" } = options;
  const { activation = "silu", gated } = options;
  return {
    name,
    read(gguf) {
      const model = new Transformer(gguf, norm);
      const rope = kind === "none" ? NO_ROPE : readRope(model, kind);
      const temperature = options.temperature ? readTemperature(model) : undefined;
      const spans = readSpans(model, rope, options);
      const others = options.attention?.(model);
      const expertsOf = options.experts && readExperts(model, options.experts, activation);

      model.embed({
        scale: options.scaledEmbeddings ? Math.sqrt(model.hiddenSize) : undefined,
        positions: kind === "none" ? "position_embd.weight" : undefined,
      });
      for (const layer of model.layers) {
        const to: Destination = place === undefined ? {} : model.aside();
        const normed = place === "after" ? model.stream : layer.norm("attn_norm");
        const norms = layer.has("attn_q_norm.weight")
          ? options.optionalHeadNorms ?? options.headNorms
          : options.headNorms;
        const span = spans[layer.index];
        attention(layer, normed, { ...span, norms, temperature, ...others, ...to });
        if (to.into) layer.addNormed("post_attention_norm", to.into);
        const same = place === "after" ||
          (parallel === "unless normed" ? !layer.has(`${secondNorm}.weight`) : parallel);
        const input = same ? normed : layer.norm(secondNorm);
        if (expertsOf) expertsOf(layer, input, to);
        else feedForward(layer, input, { activation, gated, ...to });
        if (to.into) layer.addNormed("post_ffw_norm", to.into);
      }
      return model.finish(options.logits?.(model));
    },
  };
}

/** Reads which layers have experts; returns what gives a layer its experts, or the feed-forward layer instead. */
function readExperts(
  model: Transformer,
  { layers, alpha, limit, ...defaults }: ExpertLayers,
  activation: ActivationName,
): ((layer: Layer, input: Buffer, to: Destination) => void) | undefined {
  const { parameters } = model;
  const routing = (layers === "optional" ? readRouting : requireRouting)(parameters, defaults);
  if (routing === undefined) return undefined;
  const common = { routing, activation, alpha, limit };
  const every = layers === "in turn" ? parameters.count("interleave_moe_layer_step") : 1;
  const sharedWidth = layers === "all gated"
    ? parameters.count("expert_shared_feed_forward_length", model.layers[0].feedForward)
    : layers === "all shared"
    ? routing.sharedWidth
    : undefined;
  return (layer, input, to) => {
    const own = { ...common, sharedWidth, ...to };
    if (layers === "all gated") gatedSharedExperts(layer, input, own);
    else if (layers === "later" || layers === "in turn") {
      denseOrExperts(layer, input, { ...common, every, ...to });
    } else experts(layer, input, own);
  };
}
