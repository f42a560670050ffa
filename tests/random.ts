/** xorshift32: the same cases for the same seed. */
export class Random {
  constructor(private state: number) {
    this.state = (state | 1) >>> 0;
  }
  below(n: number): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x >>> 0;
    return this.state % n;
  }
  /** True once in so many times. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }
}
