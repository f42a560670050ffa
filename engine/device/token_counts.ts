/**
 * How often a sequence has sampled each token, in the step block's layout: a token and its count, one pair after the
 * other. A long sequence has thousands of them, which go into every step.
 */
export class TokenCounts implements Iterable<[token: number, count: number]> {
  private pairs = new Uint32Array(64);
  private readonly places = new Map<number, number>();

  /** @param entries Tokens, none of them twice, and their counts. */
  constructor(entries: Iterable<readonly [token: number, count: number]> = []) {
    for (const [token, count] of entries) this.place(token, count);
  }

  /** How many different tokens there are. */
  get size(): number {
    return this.places.size;
  }

  /** The pairs; valid until the next change. */
  get words(): Uint32Array {
    return this.pairs.subarray(0, 2 * this.size);
  }

  /** Adds a token with a count of 0, if it is not there. */
  mention(token: number): void {
    if (!this.places.has(token)) this.place(token, 0);
  }

  /** Counts a token once more. */
  increment(token: number): void {
    const place = this.places.get(token);
    if (place === undefined) this.place(token, 1);
    else this.pairs[place + 1]++;
  }

  /** Counts a token once less. */
  decrement(token: number): void {
    const place = this.places.get(token);
    if (place !== undefined) this.pairs[place + 1]--;
  }

  /** Forgets a token, if it is there. */
  forget(token: number): void {
    const place = this.places.get(token);
    if (place === undefined) return;
    // The last pair takes its place.
    const last = 2 * (this.size - 1);
    const moved = this.pairs[last];
    this.pairs.copyWithin(place, last, last + 2);
    this.places.set(moved, place);
    this.places.delete(token);
  }

  /** The same counts, to be changed by themselves. */
  copy(): TokenCounts {
    return new TokenCounts(this);
  }

  *[Symbol.iterator](): Iterator<[number, number]> {
    for (const [token, place] of this.places) yield [token, this.pairs[place + 1]];
  }

  private place(token: number, count: number): void {
    const place = 2 * this.size;
    if (place === this.pairs.length) {
      const longer = new Uint32Array(2 * place);
      longer.set(this.pairs);
      this.pairs = longer;
    }
    this.pairs[place] = token;
    this.pairs[place + 1] = count;
    this.places.set(token, place);
  }
}
