/** Random numbers that are the same in every run (mulberry32): both libraries compute with the same. */
export class Random {
  constructor(private state: number) {}

  /** 0 to 2^32 - 1. */
  word(): number {
    this.state = (this.state + 0x6D2B79F5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  /** 0 to n - 1. */
  below(n: number): number {
    return this.word() % n;
  }

  /** So many numbers of mean 0 and deviation `scale`: the sum of four that are evenly spread. */
  floats(n: number, scale = 1): Float32Array<ArrayBuffer> {
    const of = scale * Math.sqrt(3) / 2 ** 32;
    return Float32Array.from({ length: n }, () => {
      const sum = this.word() + this.word() + this.word() + this.word();
      return (sum - 2 ** 33) * of;
    });
  }

  bytes(n: number): Uint8Array<ArrayBuffer> {
    const words = Uint32Array.from({ length: Math.ceil(n / 4) }, () => this.word());
    return new Uint8Array(words.buffer, 0, n);
  }
}
