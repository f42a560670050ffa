import type { Merges } from "./rank_merger.ts";

/** Numbers of an entry: the two symbols, the rank, what they become. */
const ENTRY = 4;
const EMPTY = -1;

/**
 * What two neighbouring symbols become, and how early. It is a hash table in one array, because a vocabulary has
 * hundreds of thousands of merges, and every new word looks some of them up.
 */
export class MergeTable implements Merges {
  readonly #entries: Int32Array;
  readonly #mask: number;

  /** @param capacity The most merges that will be added. */
  constructor(capacity: number) {
    const places = 1 << Math.max(4, 32 - Math.clz32(Math.ceil(capacity * 1.5)));
    this.#mask = places - 1;
    this.#entries = new Int32Array(places * ENTRY).fill(EMPTY);
  }

  /** Adds a merge, unless there is one of the same symbols, which was added earlier and counts. */
  add(left: number, right: number, rank: number, merged: number): void {
    const entries = this.#entries;
    const at = this.#find(left, right);
    if (entries[at] !== EMPTY) return;
    entries[at] = left;
    entries[at + 1] = right;
    entries[at + 2] = rank;
    entries[at + 3] = merged;
  }

  find(left: number, right: number): number {
    const at = this.#find(left, right);
    return this.#entries[at] === EMPTY ? -1 : at;
  }

  rankAt(place: number): number {
    return this.#entries[place + 2];
  }

  mergedAt(place: number): number {
    return this.#entries[place + 3];
  }

  #find(left: number, right: number): number {
    const entries = this.#entries;
    const mask = this.#mask;
    // Two rounds: ids are small and dense, and one alone leaves entries in long rows.
    let mixed = Math.imul(left ^ Math.imul(right, 0x9e3779b1), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
    let place = (mixed ^ (mixed >>> 13)) & mask;
    for (;;) {
      const at = place * ENTRY;
      const first = entries[at];
      if (first === EMPTY || (first === left && entries[at + 1] === right)) return at;
      place = (place + 1) & mask;
    }
  }
}
