import { M40Error } from "../errors.ts";
import type { Gguf } from "../gguf/mod.ts";

/** How the hidden states of a text's tokens become one vector: that of the last token, or the mean of all. */
export type Pooling = "last" | "mean";

/** The `pooling_type` of a mean. */
export const MEAN_POOLING = 1;

/** What a file's `pooling_type` means; the others are of models that are no generative ones. */
const POOLINGS: Readonly<Record<number, Pooling>> = {
  0: "last",
  [MEAN_POOLING]: "mean",
  3: "last",
};
const OTHERS: Readonly<Record<number, string>> = { 2: "of the first token", 4: "of a reranker" };

/** What a file says of pooling; undefined where it says nothing. */
export function poolingType({ metadata }: Gguf): number | undefined {
  const value = metadata.get(`${metadata.get("general.architecture")}.pooling_type`);
  return typeof value === "number" ? value : undefined;
}

/**
 * How a model's texts are pooled: by its `pooling_type`, and by the last token where it has none.
 *
 * @throws {M40Error} "unsupported" for a type that there is not here.
 */
export function poolingOf(type: number | undefined): Pooling {
  const pooling = POOLINGS[type ?? 0];
  if (pooling !== undefined) return pooling;
  throw new M40Error(
    "unsupported",
    `the model's embeddings are ${OTHERS[type!] ?? "of a kind"} (pooling_type ${type}), which ` +
      "m40 does not compute. Wanted a model whose pooling is none, mean (1) or last (3).",
    "model",
  );
}

/** The hidden states of one text on their way to its vector. */
export class Pool {
  private sum = new Float64Array(0);
  private count = 0;

  constructor(readonly pooling: Pooling) {}

  /** Takes in the next hidden state; of all of them, or of the last alone. */
  add(values: Float32Array): void {
    if (this.count++ === 0) this.sum = Float64Array.from(values);
    else for (let i = 0; i < values.length; i++) this.sum[i] += values[i];
  }

  /**
   * The vector: of length 1, unless it is 0 everywhere.
   *
   * @param dimensions Only that many of its first values, of length 1 again; all where it has no more.
   */
  vector(dimensions = Infinity): Float32Array {
    // The length does not depend on what the sum is divided by.
    const values = this.sum.subarray(0, Math.min(dimensions, this.sum.length));
    const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    return Float32Array.from(values, (value) => length > 0 ? value / length : 0);
  }
}
