import type {
  AttentionTemperature,
  Buffer,
  HeadNorms,
  HeadShape,
  KeysAndValues,
  RopeOptions,
} from "../../program/builder.ts";
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
   * Norms of q and k by `attn_q_norm` and `attn_k_norm`: each head's before or after the rotation, or all of
   * a row at once.
   */
  readonly norms?: "before" | "after" | "row";
  readonly temperature?: AttentionTemperature;
}

/** Attention, with its projections: `attn_q`, `attn_k`, `attn_v` (or `attn_qkv`) and `attn_output`. */
export function attention(layer: Layer, input: Buffer, options: AttentionOptions): Buffer {
  const { model, shape: ownShape } = layer;
  const { shape = ownShape } = options;
  const { heads, kvHeads, headDim, valueDim = headDim } = shape;
  const queryWidth = heads * headDim;
  const keyWidth = kvHeads * headDim;
  const valueWidth = kvHeads * valueDim;
  const qkv = model.scratch("qkv", queryWidth + keyWidth + valueWidth);
  model.program.matmul(
    input,
    qkv,
    layer.has("attn_qkv.weight") ? [layer.weight("attn_qkv", qkv.columns)] : [
      layer.weight("attn_q", queryWidth),
      layer.weight("attn_k", keyWidth),
      layer.weight("attn_v", valueWidth),
    ],
  );
  if (options.norms === "row") {
    rowNorm(layer, "attn_q_norm", qkv, 0, queryWidth);
    rowNorm(layer, "attn_k_norm", qkv, queryWidth, keyWidth);
  }
  return attend(layer, qkv, {
    ...options,
    shape,
    kv: { buffer: qkv, keyColumn: queryWidth, valueColumn: queryWidth + keyWidth },
    headNorms: headNorms(layer, options.norms),
  });
}

/** The norms of each head, by the layer's weights. */
function headNorms(layer: Layer, norms: AttentionOptions["norms"]): HeadNorms | undefined {
  if (norms === undefined || norms === "row") return undefined;
  return {
    q: layer.name("attn_q_norm.weight"),
    k: layer.name("attn_k_norm.weight"),
    order: norms,
    epsilon: layer.model.normEpsilon,
  };
}

function rowNorm(layer: Layer, name: string, qkv: Buffer, column: number, columns: number): void {
  layer.model.program.norm(qkv, qkv, {
    weight: layer.name(`${name}.weight`),
    epsilon: layer.model.normEpsilon,
    columns,
    inputColumn: column,
    outputColumn: column,
  });
}

/**
 * Attention of q, the first columns of a buffer, once it and what it looks at are projected: rotated, k and v put
 * into the cache, attended and projected by `attn_output`.
 */
export function attend(
  layer: Layer,
  q: Buffer,
  options: Omit<AttentionOptions, "norms"> & {
    readonly shape: HeadShape;
    /** Where k and v stand; or the layer of the cache, another layer's, that is looked at. */
    readonly kv: KeysAndValues | number;
    readonly headNorms?: HeadNorms;
  },
): Buffer {
  const { model } = layer;
  const { program } = model;
  const { shape, kv, rope, headNorms, temperature } = options;
  const { headDim, valueDim = headDim } = shape;
  const cached = typeof kv === "number" ? kv : model.cacheLayer();
  program.ropeStore(q, typeof kv === "number" ? undefined : kv, cached, shape, rope, {
    norms: headNorms,
    temperature,
  });
  const attended = model.scratch("attended", shape.heads * valueDim);
  program.attention(q, attended, cached, shape, {
    scale: options.qkScale ?? 1 / Math.sqrt(headDim),
    softcap: options.softcap,
    window: options.window,
    chunk: options.chunk,
    sinks: options.sinks ? layer.name("attn_sinks.weight") : undefined,
  });
  return model.project(attended, layer.weight("attn_output", model.hiddenSize), options);
}
