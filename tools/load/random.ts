/** Random numbers that are the same for the same seed (xorshift32). */
export class Random {
  private state: number;

  /** @param seed Any integer. */
  constructor(seed: number) {
    // A state of 0 would stay 0; small seeds are spread, since neighbours give alike numbers.
    this.state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0 || 1;
  }

  /** From 0 up to 1, without 1. */
  next(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state / 2 ** 32;
  }

  /** An integer from `min` to `max`. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  /** One of the values. */
  pick<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)];
  }
}
