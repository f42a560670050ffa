/**
 * Hands out the KV pages of a cache.
 */
export class BlockManager {
  private readonly free: number[];

  /** @param pages How many pages the cache has. */
  constructor(readonly pages: number) {
    this.free = Array.from({ length: pages }, (_, i) => pages - 1 - i);
  }

  /** How many pages are free. */
  get freePages(): number {
    return this.free.length;
  }

  /** That many pages, or undefined where so many are not free. */
  allocate(count: number): number[] | undefined {
    if (count > this.free.length) return undefined;
    return this.free.splice(this.free.length - count, count).reverse();
  }

  /** Gives pages back. */
  release(pages: readonly number[]): void {
    this.free.push(...pages.toReversed());
  }
}
