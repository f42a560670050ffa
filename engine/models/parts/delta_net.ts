import type { Buffer, DeltaRuleOptions } from "../../program/mod.ts";
import { convolve, gate, type StateNumbers } from "./recurrence.ts";
import type { Destination, Layer } from "./transformer.ts";

/** What keeps the lengths of queries and keys from 0; no key of a file says it. */
const LENGTH_EPSILON = 1e-6;

/** What a layer's delta net looks like. */
export interface DeltaNetOptions extends Destination {
  /** Heads are those of V, groups those of K, and a state is as wide as a head of K. */
  readonly numbers: StateNumbers;
  /** Which head of K a head has. */
  readonly order: DeltaRuleOptions["order"];
}

/**
 * A gated delta net (Yang et al. 2024, arXiv:2412.06464). A head forgets and learns by the convolved `attn_qkv`, by
 * `ssm_a` and `ssm_dt`, and by the numbers of `ssm_alpha` and `ssm_beta` (or `ssm_ba`). `ssm_norm` normalises each
 * head's output, which passes the gate `attn_gate`, then `ssm_out`.
 */
export function deltaNet(layer: Layer, input: Buffer, options: DeltaNetOptions): Buffer {
  const { model } = layer;
  const { kernel, heads, headDim, groups, stateDim } = options.numbers;
  const width = heads * headDim;
  const qkvWidth = 2 * groups * stateDim + width;
  if (layer.has("ssm_in.weight")) {
    throw model.parameters.invalid(
      `${layer.name("ssm_in")} is in one piece, as in files from before attn_qkv and attn_gate ` +
        "were apart: take a newer file, or convert the model again",
    );
  }
  const projected = model.scratch("state in", width + qkvWidth);
  model.program.matmul(input, projected, [
    layer.weight("attn_gate", width),
    layer.weight("attn_qkv", qkvWidth),
  ]);
  const gates = learning(layer, input, options.numbers);
  const qkv = convolve(layer, projected, { column: width, columns: qkvWidth, kernel });
  const output = model.scratch("state out", width);
  model.program.recurrent.deltaRule(qkv, output, {
    heads,
    keyHeads: groups,
    keyDim: stateDim,
    valueDim: headDim,
    order: options.order,
    gates,
    decay: layer.name("ssm_a"),
    aBias: layer.name("ssm_dt.bias"),
    scale: 1 / Math.sqrt(stateDim),
    epsilon: LENGTH_EPSILON,
  });
  model.norm(layer.name("ssm_norm"), output, output, { columns: headDim, groups: heads });
  gate(layer, projected, output);
  return model.project(output, layer.weight("ssm_out", model.hiddenSize), options);
}

/** How much each head forgets and how much it learns: the numbers a and b. */
function learning(
  layer: Layer,
  input: Buffer,
  { heads, groups }: StateNumbers,
): DeltaRuleOptions["gates"] {
  const { model } = layer;
  const buffer = model.scratch("learning", 2 * heads);
  if (!layer.has("ssm_ba.weight")) {
    model.program.matmul(input, buffer, [
      layer.weight("ssm_alpha", heads),
      layer.weight("ssm_beta", heads),
    ]);
    return { buffer, aColumn: 0, bColumn: heads, heads, stride: heads };
  }
  // For each head of K the b of its heads, then their a.
  const each = heads / groups;
  model.program.matmul(input, buffer, [layer.weight("ssm_ba", 2 * heads)]);
  return { buffer, aColumn: each, bColumn: 0, heads: each, stride: 2 * each };
}
