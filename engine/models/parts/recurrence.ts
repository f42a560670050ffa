import type { Buffer } from "../../program/mod.ts";
import type { Hyperparameters } from "./hyperparameters.ts";
import type { Layer, Transformer } from "./transformer.ts";

/** Tokens that a convolution can see. */
const MOST_KERNEL = 8;

/** The numbers of layers with a state, `ssm.*`; what they mean is their part's own. */
export interface StateNumbers {
  /** Tokens that the convolution sees. */
  readonly kernel: number;
  readonly heads: number;
  /** Values of a head. */
  readonly headDim: number;
  /** Groups of as many heads each. */
  readonly groups: number;
  readonly stateDim: number;
}

/**
 * Reads the numbers of layers with a state.
 *
 * @throws {M40Error} "invalid_model" where they are missing, out of range, or do not fit together; "unsupported" where
 * a convolution is too long.
 */
export function readStateNumbers(parameters: Hyperparameters): StateNumbers {
  const heads = parameters.count("ssm.time_step_rank");
  const groups = parameters.count("ssm.group_count");
  const width = parameters.count("ssm.inner_size");
  if (width % heads !== 0) {
    throw parameters.invalid(`ssm.inner_size ${width} does not divide into ${heads} heads`);
  }
  if (heads % groups !== 0) {
    throw parameters.invalid(`${heads} heads do not divide into ssm.group_count ${groups}`);
  }
  return {
    kernel: readKernel(parameters, "ssm.conv_kernel"),
    heads,
    headDim: width / heads,
    groups,
    stateDim: parameters.count("ssm.state_size"),
  };
}

/** How many tokens a convolution sees. */
export function readKernel(parameters: Hyperparameters, key: string): number {
  const kernel = parameters.count(key);
  if (kernel < 2 || kernel > MOST_KERNEL) {
    throw parameters.unsupported(`${key} is ${kernel}, wanted 2 to ${MOST_KERNEL}`);
  }
  return kernel;
}

/**
 * Which layers have a state instead of attention: `attention.recurrent_layers`, or all but the last of each
 * `full_attention_interval`.
 */
export function readRecurrentLayers({ parameters }: Transformer): boolean[] {
  const blocks = parameters.count("block_count");
  const interval = parameters.count("full_attention_interval", 4);
  const key = "attention.recurrent_layers";
  return parameters.pattern(key, blocks, interval);
}

/**
 * silu of the convolution `ssm_conv1d` of columns of the input from one on.
 *
 * @param columns How many there are.
 */
export function convolve(
  layer: Layer,
  input: Buffer,
  { column, columns, kernel }: { column: number; columns: number; kernel: number },
): Buffer {
  const { model } = layer;
  const { weight, bias } = layer.weight("ssm_conv1d", columns);
  const convolved = model.scratch("convolved", columns);
  model.program.recurrent.conv(input, convolved, {
    columns,
    kernel,
    weight,
    bias,
    activation: "silu",
    inputColumn: column,
  });
  return convolved;
}

/** output = silu(the input's first columns) * output */
export function gate({ model }: Layer, input: Buffer, output: Buffer): void {
  model.program.activation(input, output, "silu", {
    gated: true,
    up: { buffer: output, column: 0 },
  });
}
