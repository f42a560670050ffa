/** Bytes from `start` to before `end`. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Which bytes of a file are there: ranges that neither overlap nor touch, in order. */
export class RangeSet {
  #ranges: Range[] = [];

  /** The same ranges, in a set of their own. */
  copy(): RangeSet {
    const copy = new RangeSet();
    copy.#ranges = [...this.#ranges];
    return copy;
  }

  [Symbol.iterator](): Iterator<Range> {
    return this.#ranges.values();
  }

  /** How many bytes are there. */
  get bytes(): number {
    return this.#ranges.reduce((sum, { start, end }) => sum + end - start, 0);
  }

  /** How many bytes are there from the first one on without a gap. */
  get prefix(): number {
    const [first] = this.#ranges;
    return first?.start === 0 ? first.end : 0;
  }

  /** Where the last range ends. */
  get end(): number {
    return this.#ranges.at(-1)?.end ?? 0;
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    const before = this.#ranges.filter((range) => range.end < start);
    const after = this.#ranges.filter((range) => range.start > end);
    const touched = this.#ranges.slice(before.length, this.#ranges.length - after.length);
    this.#ranges = [
      ...before,
      {
        start: Math.min(start, touched[0]?.start ?? start),
        end: Math.max(end, touched.at(-1)?.end ?? end),
      },
      ...after,
    ];
  }

  remove(start: number, end: number): void {
    if (start >= end) return;
    this.#ranges = this.#ranges.flatMap((range) =>
      [
        { start: range.start, end: Math.min(range.end, start) },
        { start: Math.max(range.start, end), end: range.end },
      ].filter((part) => part.start < part.end)
    );
  }

  has(start: number, end: number): boolean {
    return start >= end || this.#ranges.some((range) => range.start <= start && end <= range.end);
  }

  /** The first bytes before `limit` that are not there; undefined where all are. */
  firstGap(limit: number): Range | undefined {
    let start = 0;
    for (const range of this.#ranges) {
      if (range.start > start) {
        return start < limit ? { start, end: Math.min(range.start, limit) } : undefined;
      }
      start = range.end;
    }
    return start < limit ? { start, end: limit } : undefined;
  }
}
