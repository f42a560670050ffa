import type {
  AttentionTemperature,
  Buffer,
  HeadNorms,
  HeadShape,
  KeysAndValues,
  RopeOptions,
} from "../../program/mod.ts";
import type { Destination, Layer } from "./transformer.ts";

/** How a layer's attention differs from grouped-query attention over everything before. */
export interface AttentionOptions extends Destination {
  readonly rope: RopeOptions;
  /** The layer's own where absent. */
  readonly shape?: HeadShape;
  /** What q k is multiplied by; 1 / sqrt(head dimension) where absent. */
  readonly qkScale?: number;
  readonly softcap?: number;
  /** Tokens that are seen, the own one included; 0: all. */
  readonly window?: number;
  /** Tokens: those from the last multiple of it on are seen; 0: all. */
  readonly chunk?: number;
  /** Whether heads have a logit that takes a share of the softmax and has no value: `attn_sinks`. */
  readonly sinks?: boolean;
  /**
   * Norms of q and k by `attn_q_norm` and `attn_k_norm`: "before" or "after" the rotation, each head's with the same
   * weights; "own": before it, with weights of each head's own; "row": before it, all heads at once. Or those that are
   * given, of other weights or of none.
   */
  readonly norms?: "before" | "after" | "own" | "row" | HeadNorms;
  readonly temperature?: AttentionTemperature;
  /**
   * Whether what was attended passes a gate, the sigmoid of a product of the input: `attn_gate`, or, "query", rows of
   * `attn_q`: those of a head's gate behind those of its query.
   */
  readonly gated?: boolean | "query";
}

/** Attention, with its projections: `attn_q`, `attn_k`, `attn_v` (or `attn_qkv`) and `attn_output`. */
export function attention(layer: Layer, input: Buffer, options: AttentionOptions): Buffer {
  const { model, shape: ownShape } = layer;
  const { shape = ownShape, gated } = options;
  const { heads, kvHeads, headDim, valueDim = headDim } = shape;
  const queryWidth = heads * headDim;
  const keyWidth = kvHeads * headDim;
  const valueWidth = kvHeads * valueDim;
  const projected = gated === "query" ? 2 * queryWidth : queryWidth;
  const qkv = model.scratch("qkv", projected + keyWidth + valueWidth);
  model.program.matmul(
    input,
    qkv,
    layer.has("attn_qkv.weight") ? [layer.weight("attn_qkv", qkv.columns)] : [
      layer.weight("attn_q", projected),
      layer.weight("attn_k", keyWidth),
      layer.weight("attn_v", valueWidth),
    ],
  );
  if (options.norms === "row" || options.norms === "own") {
    const own = options.norms === "own";
    const parts = [["attn_q_norm", 0, heads], ["attn_k_norm", projected, kvHeads]] as const;
    for (const [name, column, n] of parts) {
      model.norm(layer.name(name), qkv, qkv, {
        columns: own ? headDim : n * headDim,
        groups: own ? n : 1,
        weightPerGroup: own,
        inputColumn: column,
        outputColumn: column,
      });
    }
  }
  const { queries, gate } = gated === "query"
    ? takeApart(layer, qkv, shape)
    : { queries: qkv, gate: gated ? projectGate(layer, input, heads * valueDim) : undefined };
  return attend(layer, queries, {
    ...options,
    shape,
    kv: { buffer: qkv, keyColumn: projected, valueColumn: projected + keyWidth },
    headNorms: headNorms(layer, options.norms),
    project: gate && ((attended) => projectGated(layer, attended, gate, options)),
  });
}

/** The heads' queries, and their gates, of rows that have them in turn. */
function takeApart({ model }: Layer, qkv: Buffer, { heads, headDim, valueDim }: HeadShape) {
  if (valueDim !== headDim) {
    throw model.parameters.invalid(
      `a head has a gate of ${headDim} values, but attention gives ${valueDim}`,
    );
  }
  const queries = model.scratch("queries", heads * headDim);
  const gate = model.scratch("attention gate", queries.columns);
  const every = { columns: headDim, groups: heads, inputStride: 2 * headDim };
  model.program.copy(qkv, queries, { ...every, inputColumn: 0 });
  model.program.copy(qkv, gate, { ...every, inputColumn: headDim });
  return { queries, gate };
}

function projectGate(layer: Layer, input: Buffer, columns: number): Buffer {
  const gate = layer.model.scratch("attention gate", columns);
  layer.model.program.matmul(input, gate, [layer.weight("attn_gate", columns)]);
  return gate;
}

/** The product of what was attended with `attn_output`, behind its gate. */
function projectGated(layer: Layer, attended: Buffer, gate: Buffer, to: Destination): Buffer {
  const { model } = layer;
  const passed = model.scratch("passed", attended.columns);
  model.program.activation(gate, passed, "sigmoid", {
    gated: true,
    up: { buffer: attended, column: 0 },
  });
  return model.project(passed, layer.weight("attn_output", model.hiddenSize), to);
}

/** The norms of each head, by the layer's weights. */
function headNorms(layer: Layer, norms: AttentionOptions["norms"]): HeadNorms | undefined {
  if (typeof norms === "object") return norms;
  if (norms !== "before" && norms !== "after") return undefined;
  return {
    q: layer.name("attn_q_norm.weight"),
    k: layer.name("attn_k_norm.weight"),
    order: norms,
    epsilon: layer.model.normEpsilon,
  };
}

/**
 * Attention of q, the first columns of a buffer, once it and what it looks at are projected: rotated, k and v put
 * into the cache, attended and projected by `attn_output`.
 */
export function attend(
  layer: Layer,
  q: Buffer,
  options: Omit<AttentionOptions, "norms" | "gated"> & {
    readonly shape: HeadShape;
    /** What stands for `attn_output`, where it is not that: it is given what was attended. */
    readonly project?: (attended: Buffer) => Buffer;
    /** Where k and v stand; absent: they are in the cache. */
    readonly kv?: KeysAndValues;
    /** The layer of the cache; a new one where absent. */
    readonly cacheLayer?: number;
    readonly headNorms?: HeadNorms;
  },
): Buffer {
  const { model } = layer;
  const { program } = model;
  const { shape, kv, rope, headNorms, temperature, window = 0 } = options;
  const { headDim, valueDim = headDim } = shape;
  const { cacheLayer = model.cacheLayer() } = options;
  program.ropeStore(q, kv, cacheLayer, shape, rope, {
    norms: headNorms,
    temperature,
  });
  const attended = model.scratch("attended", shape.heads * valueDim);
  program.attention(q, attended, cacheLayer, shape, {
    scale: options.qkScale ?? 1 / Math.sqrt(headDim),
    softcap: options.softcap,
    // One that is wider than every context is none.
    window: window < model.contextLength ? window : 0,
    chunk: options.chunk,
    sinks: options.sinks ? layer.name("attn_sinks.weight") : undefined,
  });
  if (options.project) return options.project(attended);
  return model.project(attended, layer.weight("attn_output", model.hiddenSize), options);
}
