import type { Transformer } from "./transformer.ts";

/**
 * How many tokens each layer sees, its own included; 0 is all of them: `attention.sliding_window` in the layers
 * that have one, by an array or a period in the file.
 *
 * @param period The architecture's own: the last layer of each period sees all.
 * @param fallback Tokens where the file names none; absent: then no layer has a window.
 */
export function readWindows(model: Transformer, period: number, fallback?: number): number[] {
  const { parameters, layers } = model;
  const key = "attention.sliding_window";
  if (!parameters.has(key) && fallback === undefined) return layers.map(() => 0);
  const window = parameters.count(key, fallback);
  const blocks = parameters.count("block_count");
  const windowed = parameters.pattern("attention.sliding_window_pattern", blocks, period);
  return layers.map(({ index }) => windowed[index] ? window : 0);
}
