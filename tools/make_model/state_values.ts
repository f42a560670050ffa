/**
 * Values of what layers with a state have in addition to their matrices.
 *
 * @module
 */
import type { Random } from "./blocks.ts";
import type { Weight } from "./shape.ts";

/** A convolution's: what comes out is as large as what went in. */
export function kernelValues(kernel: number): Weight["values"] {
  return (n, random) =>
    Float32Array.from({ length: n }, () => random.signed() * Math.sqrt(3 / kernel));
}

/** How fast a state forgets: half of it in some 2 tokens to some 40. */
export function decayValues(n: number, random: Random): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: n }, () => -Math.exp(-2.5 + 1.5 * random.signed()));
}
