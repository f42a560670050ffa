import type { RopeOptions } from "../../program/mod.ts";
import { NO_ROPE, readLocalRope } from "./rope.ts";
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

/** Which layers of an architecture have a window, and what positions they have. */
export interface SpanOptions {
  /** As {@link readWindows} takes them; absent: every layer sees everything. */
  readonly windows?: { readonly period: number; readonly fallback?: number };
  /**
   * "local": a layer that sees everything has no positions; "beside windows": the same, where others have a window;
   * "unscaled": a layer with a window has those of {@link readLocalRope}. Absent: all layers have the same.
   */
  readonly positions?: "local" | "beside windows" | "unscaled";
  /** The base of unscaled positions where a file names none; that of the others where absent. */
  readonly localFreqBase?: number;
}

/** The window and the positions of each layer, where `rope` are the model's. */
export function readSpans(
  model: Transformer,
  rope: RopeOptions,
  { windows: wanted, positions, localFreqBase }: SpanOptions,
): { readonly window: number; readonly rope: RopeOptions }[] {
  if (wanted === undefined) return model.layers.map(() => ({ window: 0, rope }));
  const local = positions === "unscaled" ? readLocalRope(model, rope, localFreqBase) : rope;
  const windows = readWindows(model, wanted.period, wanted.fallback);
  const blind = positions === "local" ||
    positions === "beside windows" && windows.some((window) => window > 0);
  const global = blind ? NO_ROPE : rope;
  return windows.map((window) => ({ window, rope: window > 0 ? local : global }));
}
