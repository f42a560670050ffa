/**
 * What is said where a model does not fit.
 *
 * @module
 */
import { tensorTypeByName } from "../gguf/mod.ts";
import type { Program } from "../program/mod.ts";
import type { Sizes } from "./remembered_sizes.ts";

/** What of a plan is said. */
type Need =
  & Record<"contextTokens" | "totalBytes" | "weightBytes" | "cacheBytes", number>
  & Record<"slots" | "stateBytes" | "programBytes", number>;

/** What a model needs, in words. */
export function describeNeed(needed: Need, maxRunning: number): string {
  const states = needed.slots === 0
    ? ""
    : `states ${gib(needed.stateBytes)} (of ${maxRunning} sequences at once), `;
  return `the model needs ${gib(needed.totalBytes)} with a context of ${needed.contextTokens} ` +
    `tokens: weights ${gib(needed.weightBytes)}, KV cache ${gib(needed.cacheBytes)}, ` +
    `${states}activations ${gib(needed.programBytes)}`;
}

/** What would fit: so many tokens of context, and so many sequences; 0: none. */
export function adviceOf(tokens: number, sequences: number): string[] {
  return [
    ...(tokens > 0 ? [`a context of ${tokens} tokens would fit (--ctx ${tokens})`] : []),
    ...(sequences > 0
      ? [`with ${sequences} sequences at once it would fit (--parallel ${sequences})`]
      : []),
  ];
}

/** Quantisations of a model, the largest first. */
const QUANTISATIONS = ["Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K"];

/**
 * Which quantisation of a model would fit, in words.
 *
 * @param fits Whether a context of so many tokens fits with so many bytes of weights.
 * @param contexts Tokens, the preferred ones first.
 */
export function describeSmaller(
  sizes: Pick<Sizes, "tensorBytes">,
  program: Program,
  fits: (tokens: number, weightBytes: number) => boolean,
  contexts: readonly number[],
): string {
  for (const tokens of contexts) {
    for (const name of QUANTISATIONS) {
      const type = tensorTypeByName(name)!;
      // No weight becomes larger than it is, and vectors stay what they are.
      const bytes = program.weights.reduce((sum, { desc }) => {
        const now = sizes.tensorBytes(desc);
        if (desc.rows === 1 || desc.columns % type.blockSize !== 0) return sum + now;
        return sum + Math.min(now, sizes.tensorBytes({ ...desc, type: type.id }));
      }, 0);
      if (fits(tokens, bytes)) {
        return `quantised to ${name} (${gib(bytes)} of weights) it would fit, with a context of ` +
          `${tokens} tokens`;
      }
    }
  }
  return "no quantisation of it would fit: a smaller model is needed";
}

/** So many bytes, in words. */
export function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}
