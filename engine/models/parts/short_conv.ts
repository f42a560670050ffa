import type { Buffer } from "../../program/mod.ts";
import type { Layer } from "./transformer.ts";

/**
 * A convolution between two gates (LFM2, Liquid AI 2025): `shortconv.in_proj` gives B, C and x, and
 * C * `shortconv.conv`(B * x) passes `shortconv.out_proj`.
 *
 * @param kernel Tokens that it sees.
 */
export function shortConv(layer: Layer, input: Buffer, kernel: number): Buffer {
  const { model } = layer;
  const { hiddenSize } = model;
  const projected = model.scratch("state in", 3 * hiddenSize);
  const output = model.scratch("state out", hiddenSize);
  const { weight, bias } = layer.weight("shortconv.conv", hiddenSize);
  model.program.matmul(input, projected, [
    layer.weight("shortconv.in_proj", projected.columns),
  ]);
  model.program.recurrent.conv(projected, output, {
    columns: hiddenSize,
    kernel,
    weight,
    bias,
    factorColumn: 0,
    gateColumn: hiddenSize,
    inputColumn: 2 * hiddenSize,
  });
  return model.project(output, layer.weight("shortconv.out_proj", hiddenSize), {});
}
