import type { HeadShape } from "./operands.ts";
import type { CacheLayer } from "./program.ts";

/** Collects what a program's operations keep in the layers of the KV cache, and how far back they look. */
export class CacheLayers {
  /** By the numbers that operations name them by. */
  readonly layers: CacheLayer[] = [];
  /** Those that an attention operation looks at. */
  private readonly attended = new Set<number>();

  /** A layer that K is written to, and V where `storesValues` says so. */
  add(layer: number, shape: HeadShape, storesValues: boolean): void {
    const { kvHeads, headDim, valueDim = headDim } = shape;
    const values = storesValues ? valueDim : 0;
    this.layers[layer] = { kvHeads, headDim, valueDim: values, window: 0, chunk: 0 };
  }

  /** An operation looks at a layer: it is of use as far back as any that does sees. */
  attend(layer: number, window: number, chunk: number): void {
    const known = this.layers[layer];
    const alike = known?.window === window && known.chunk === chunk;
    const reach = !this.attended.has(layer) || alike ? { window, chunk } : { window: 0, chunk: 0 };
    this.layers[layer] = { ...known, ...reach };
    this.attended.add(layer);
  }
}
