import type { Buffer } from "../../program/mod.ts";
import { convolve, gate, type StateNumbers } from "./recurrence.ts";
import type { Destination, Layer } from "./transformer.ts";

/**
 * A layer of Mamba-2 (Dao and Gu 2024, arXiv:2405.21060). `ssm_in` gives a gate, x, B and C, and a step for each head.
 * The state space `ssm_a`, `ssm_d`, `ssm_dt` takes the convolved x, B and C. Its output passes the gate, then the norm
 * `ssm_norm` of each group, then `ssm_out`.
 */
export function mamba2(
  layer: Layer,
  input: Buffer,
  { numbers, ...to }: Destination & { readonly numbers: StateNumbers },
): Buffer {
  const { model } = layer;
  const { kernel, heads, headDim, groups, stateDim } = numbers;
  const width = heads * headDim;
  const convolvedWidth = width + 2 * groups * stateDim;
  const projected = model.scratch("state in", width + convolvedWidth + heads);
  model.program.matmul(input, projected, [layer.weight("ssm_in", projected.columns)]);
  const xbc = convolve(layer, projected, { column: width, columns: convolvedWidth, kernel });
  const output = model.scratch("state out", width);
  model.program.recurrent.selectiveScan(xbc, output, {
    heads,
    groups,
    headDim,
    stateDim,
    steps: { buffer: projected, column: width + convolvedWidth },
    decay: layer.name("ssm_a"),
    skip: layer.name("ssm_d"),
    dtBias: layer.name("ssm_dt.bias"),
  });
  gate(layer, projected, output);
  model.norm(layer.name("ssm_norm"), output, output, {
    columns: width / groups,
    groups,
    weightPerGroup: true,
  });
  return model.project(output, layer.weight("ssm_out", model.hiddenSize), to);
}
