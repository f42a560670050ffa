import type { Buffer, RopeOptions } from "../program/mod.ts";
import type { Architecture } from "./model.ts";
import { attend } from "./parts/attention.ts";
import { experts, readRouting, type Routing } from "./parts/experts.ts";
import { feedForward } from "./parts/feed_forward.ts";
import { readLocalRope, readRope, readRotated } from "./parts/rope.ts";
import { type Layer, Transformer } from "./parts/transformer.ts";
import { readWindows } from "./parts/windows.ts";

const ACTIVATION = "gelu_tanh";

/**
 * Gemma 4 (Google 2026): layers with a window have other heads and positions than those without; these may take
 * keys for values. The last layers may use the keys and values of others; small models add a separate embedding in each
 * layer; large ones have experts in addition to the feed-forward layer.
 */
export const gemma4: Architecture = {
  name: "gemma4",
  read(gguf) {
    const model = new Transformer(gguf);
    const { parameters, hiddenSize, layers } = model;
    const windows = readWindows(model, 6);
    const kinds = readKinds(model);
    const routing = readRouting(parameters, { score: "softmax", normalise: true });
    const shared = parameters.countOrNone("attention.shared_kv_layers", 0);
    if (shared >= layers.length) {
      throw parameters.invalid(
        `${shared} of ${layers.length} layers look at others' keys and values`,
      );
    }
    ignoreKeysOf(model, layers.slice(layers.length - shared));

    model.embed({ scale: Math.sqrt(hiddenSize) });
    const ownEmbeddings = readOwnEmbeddings(model);
    const cached: { local?: number; global?: number } = {};
    for (const layer of layers) {
      const { into } = model.aside();
      const window = windows[layer.index];
      const kind = window > 0 ? "local" : "global";
      const looksBack = layer.index >= layers.length - shared;
      if (!looksBack) cached[kind] = model.cacheLayer();
      if (cached[kind] === undefined) {
        throw parameters.invalid(
          `layer ${layer.index} looks at another's keys, but no ${kind} layer before it has any`,
        );
      }
      attention(layer, layer.norm("attn_norm"), {
        ...kinds[kind],
        window,
        cacheLayer: cached[kind],
        looksBack,
        into,
      });
      layer.addNormed("post_attention_norm", into);

      if (routing && layer.has("ffn_gate_inp.weight")) feedForwardAndExperts(layer, routing, into);
      else feedForward(layer, layer.norm("ffn_norm"), { activation: ACTIVATION, into });
      const scale = layer.has("layer_output_scale.weight")
        ? layer.name("layer_output_scale.weight")
        : undefined;
      layer.addNormed("post_ffw_norm", into, ownEmbeddings ? undefined : scale);
      if (ownEmbeddings) {
        ownEmbeddings(layer, into);
        layer.addNormed("post_norm", into, scale);
      }
    }
    const softcap = parameters.number("final_logit_softcapping", 0);
    return model.finish({ softcap: softcap > 0 ? softcap : undefined });
  },
};

/** The heads and positions of a kind of layers. */
interface Kind {
  readonly headDim: number;
  readonly rope: RopeOptions;
}

function readKinds(model: Transformer): { readonly local: Kind; readonly global: Kind } {
  const { parameters, layers } = model;
  const { headDim } = layers[0].shape;
  const localDim = parameters.count("attention.key_length_swa", headDim);
  const rope = readRope(model, "halves", headDim);
  const valueDim = parameters.count("attention.value_length_swa", localDim);
  if (valueDim !== localDim) {
    throw parameters.unsupported(
      `attention.value_length_swa is ${valueDim}, wanted as many as a key has, ${localDim}`,
    );
  }
  const dim = readRotated(model, "rope.dimension_count_swa", localDim);
  return {
    global: { headDim, rope },
    local: { headDim: localDim, rope: { ...readLocalRope(model, rope, 10000), dim } },
  };
}

/**
 * Attention without a scale, and with a norm of v that has no weights. Where there is no `attn_v`, v is what k was
 * before its norm; a layer that looks back has neither.
 */
function attention(
  layer: Layer,
  input: Buffer,
  { headDim, looksBack, ...options }: Kind & {
    window: number;
    cacheLayer: number | undefined;
    looksBack: boolean;
    into: Buffer;
  },
): void {
  const { model } = layer;
  const { heads, kvHeads } = layer.shape;
  const queryWidth = heads * headDim;
  const keyWidth = kvHeads * headDim;
  const weights = [layer.weight("attn_q", queryWidth)];
  if (!looksBack) weights.push(layer.weight("attn_k", keyWidth));
  const hasValues = !looksBack && layer.has("attn_v.weight");
  if (hasValues) weights.push(layer.weight("attn_v", keyWidth));

  const qkv = model.scratch("qkv", queryWidth + (weights.length - 1) * keyWidth);
  model.program.matmul(input, qkv, weights);
  attend(layer, qkv, {
    ...options,
    shape: { heads, kvHeads, headDim },
    kv: looksBack ? undefined : {
      buffer: qkv,
      keyColumn: queryWidth,
      valueColumn: hasValues ? queryWidth + keyWidth : queryWidth,
    },
    headNorms: {
      q: layer.name("attn_q_norm.weight"),
      k: looksBack ? undefined : layer.name("attn_k_norm.weight"),
      v: true,
      epsilon: model.normEpsilon,
    },
    qkScale: 1,
  });
}

/** A feed-forward layer and a mixture of experts side by side, each with norms of its own, added. */
function feedForwardAndExperts(layer: Layer, routing: Routing, into: Buffer): void {
  const { model } = layer;
  const dense = model.scratch("dense", model.hiddenSize);
  feedForward(layer, layer.norm("ffn_norm"), { activation: ACTIVATION, into: dense });
  model.norm(layer.name("post_ffw_norm_1"), dense, dense);

  const routed = model.scratch("routed", model.hiddenSize);
  model.program.norm(model.stream, routed, {
    weight: layer.name("ffn_gate_inp.scale"),
    epsilon: model.normEpsilon,
  });
  experts(layer, layer.norm("pre_ffw_norm_2"), {
    routing,
    activation: ACTIVATION,
    router: { input: routed, scale: 1 / Math.sqrt(model.hiddenSize) },
    into,
  });
  model.norm(layer.name("post_ffw_norm_2"), into, into, { residual: dense });
}

/**
 * The embeddings that tokens have for each layer, where there are any: of a table, and out of the stream as it begins.
 *
 * @returns What gives a layer's part: gate(stream) * embedding, projected.
 */
function readOwnEmbeddings(model: Transformer): ((layer: Layer, into: Buffer) => void) | undefined {
  const { parameters, program, stream, layers, hiddenSize } = model;
  const width = parameters.countOrNone("embedding_length_per_layer_input", 0);
  if (width === 0) return undefined;
  const all = width * layers.length;
  const embedded = program.buffer(all);
  const projected = program.buffer(all);
  program.embed(embedded, "per_layer_token_embd.weight", { scale: Math.sqrt(width) });
  program.matmul(stream, projected, [model.weight("per_layer_model_proj", all)], {
    scale: 1 / Math.sqrt(hiddenSize),
  });
  model.norm("per_layer_proj_norm", projected, embedded, {
    columns: width,
    groups: layers.length,
    residual: embedded,
  });
  return (layer, into) => {
    const gate = model.scratch("own gate", width);
    program.matmul(stream, gate, [layer.weight("inp_gate", width)]);
    program.activation(gate, gate, ACTIVATION, {
      gated: true,
      up: { buffer: embedded, column: layer.index * width },
    });
    // The two embeddings were added: the mean of their squares is to stay.
    program.matmul(gate, into, [layer.weight("proj", hiddenSize)], { scale: Math.SQRT1_2 });
  };
}

/** Layers that look back may have weights for keys and values all the same. */
function ignoreKeysOf({ program }: Transformer, layers: readonly Layer[]): void {
  for (const layer of layers) {
    const names = ["attn_k", "attn_v", "attn_k_norm"].map((name) => layer.name(`${name}.weight`));
    program.ignore((name) => names.includes(name));
  }
}
