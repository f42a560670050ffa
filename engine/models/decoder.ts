import type { ActivationName } from "../program/mod.ts";
import type { Architecture } from "./model.ts";
import { attention, type AttentionOptions } from "./parts/attention.ts";
import {
  denseOrExperts,
  experts,
  readRouting,
  requireRouting,
  type Routing,
} from "./parts/experts.ts";
import { feedForward, type FeedForwardOptions } from "./parts/feed_forward.ts";
import { NO_ROPE, readRope, readTemperature } from "./parts/rope.ts";
import { Transformer } from "./parts/transformer.ts";

/** How a model whose layers are all alike differs from a dense Llama. */
export interface DecoderOptions {
  /** The kind of its norms; "rms" where absent. */
  readonly norm?: "rms" | "layer" | "plain";
  /** Which values of a head are rotated together; "none": positions have a table of embeddings. */
  readonly rope: "halves" | "interleaved" | "none";
  /** Norms of q and k. */
  readonly headNorms?: AttentionOptions["norms"];
  /** The same, where the file has them. */
  readonly optionalHeadNorms?: AttentionOptions["norms"];
  /** Whether attention gets sharper far into a text. */
  readonly temperature?: boolean;
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
  /** Whether logits are multiplied by `logit_scale`. */
  readonly scaledLogits?: boolean;
}

/** How experts are chosen where a file does not say, and which layers have them. */
interface ExpertLayers extends Pick<Routing, "score" | "normalise"> {
  /**
   * "optional": all or none, as the file says; "all"; "all shared": all, with experts that every token has; "later": all
   * but the first layers, with such experts.
   */
  readonly layers: "optional" | "all" | "all shared" | "later";
}

/** An architecture whose layers are all attention, and a feed-forward layer or experts, behind a norm each. */
export function decoder(name: string, options: DecoderOptions): Architecture {
  const { norm, rope: kind, parallel, secondNorm = "ffn_norm", activation = "silu", gated } =
    options;
  return {
    name,
    read(gguf) {
      const model = new Transformer(gguf, norm);
      const { parameters } = model;
      const rope = kind === "none" ? NO_ROPE : readRope(model, kind);
      const temperature = options.temperature ? readTemperature(model) : undefined;
      const layers = options.experts?.layers;
      const routing = options.experts &&
        (layers === "optional" ? readRouting : requireRouting)(parameters, options.experts);
      const sharedWidth = layers === "all shared" ? routing?.sharedWidth : undefined;

      model.embed({
        scale: options.scaledEmbeddings ? Math.sqrt(model.hiddenSize) : undefined,
        positions: kind === "none" ? "position_embd.weight" : undefined,
      });
      for (const layer of model.layers) {
        const normed = layer.norm("attn_norm");
        const norms = layer.has("attn_q_norm.weight")
          ? options.optionalHeadNorms ?? options.headNorms
          : options.headNorms;
        attention(layer, normed, { rope, norms, temperature });
        const same = parallel === "unless normed" ? !layer.has(`${secondNorm}.weight`) : parallel;
        const input = same ? normed : layer.norm(secondNorm);
        if (!routing) feedForward(layer, input, { activation, gated });
        else if (layers === "later") denseOrExperts(layer, input, { routing, activation });
        else experts(layer, input, { routing, activation, sharedWidth });
      }
      return model.finish({
        scale: options.scaledLogits ? parameters.positive("logit_scale", 1) : undefined,
      });
    },
  };
}
