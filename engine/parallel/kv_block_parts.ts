import { M40Error } from "../errors.ts";

export type Indices = Uint32Array<ArrayBuffer>;
export type Bytes = Uint8Array<ArrayBuffer>;

/** Where the parts of KV blocks, or of slots, that several cards have of each lie in host memory: one after the other, KV block by KV block. */
export class KvBlockParts {
  private readonly starts: readonly number[];
  private readonly eachBytes: number;

  /** @param sizes Bytes of each card's part; 0 where it keeps none. */
  constructor(private readonly sizes: readonly number[]) {
    this.starts = sizes.map((_, card) => sizes.slice(0, card).reduce((sum, one) => sum + one, 0));
    this.eachBytes = sizes.reduce((sum, one) => sum + one, 0);
  }

  /** @throws {M40Error} "internal" where the memory is not that of so many. */
  check(count: number, memory: Bytes): void {
    if (memory.length === count * this.eachBytes) return;
    throw new M40Error(
      "internal",
      `got ${memory.length} bytes of host memory for ${count} of ${this.eachBytes} bytes each`,
    );
  }

  /** A card's part of number i. */
  of(card: number, i: number, memory: Bytes): Bytes {
    const start = i * this.eachBytes + this.starts[card];
    return memory.subarray(start, start + this.sizes[card]);
  }
}
