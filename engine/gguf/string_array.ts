/** UTF-8 as files have it: a damaged sequence becomes U+FFFD, a byte order mark is a character like any other. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Strings are decoded together in runs of about this many bytes. */
const RUN_BYTES = 64 * 1024;

/**
 * An array of strings out of a GGUF file, kept as the bytes of the file until someone asks.
 *
 * A vocabulary has hundreds of thousands of short strings, and a decoder call for each is most of the
 * time of opening a model. So {@link toArray} decodes whole runs at once and cuts the result.
 */
export class StringArray implements Iterable<string> {
  /** How many strings there are. */
  readonly length: number;

  /**
   * @param data The strings' bytes, one after the other without gaps.
   * @param ends Where each string ends in `data`; ascending.
   */
  constructor(readonly data: Uint8Array, readonly ends: Uint32Array) {
    this.length = ends.length;
  }

  /** Packs strings (or their bytes, which need not be UTF-8) into an array. */
  static from(strings: Iterable<string | Uint8Array>): StringArray {
    const encoder = new TextEncoder();
    const parts = [...strings].map((s) => typeof s === "string" ? encoder.encode(s) : s);
    const data = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    const ends = new Uint32Array(parts.length);
    let end = 0;
    parts.forEach((part, i) => {
      data.set(part, end);
      ends[i] = end += part.length;
    });
    return new StringArray(data, ends);
  }

  /** The bytes of string `index` as in the file: a view, not a copy. */
  bytes(index: number): Uint8Array {
    if (!(index >= 0 && index < this.length)) {
      throw new RangeError(`there is no string ${index}: the array has ${this.length}`);
    }
    return this.data.subarray(index === 0 ? 0 : this.ends[index - 1], this.ends[index]);
  }

  /** String `index`; bytes that are not UTF-8 become U+FFFD. */
  at(index: number): string {
    return decoder.decode(this.bytes(index));
  }

  /** The first strings, as many as are wanted and there. */
  first(count: number): StringArray {
    return new StringArray(this.data, this.ends.slice(0, count));
  }

  /** All strings, decoded; bytes that are not UTF-8 become U+FFFD. A new array each time. */
  toArray(): string[] {
    const strings = new Array<string>(this.length);
    let first = 0;
    while (first < this.length) first = this.#decodeRun(first, strings);
    return strings;
  }

  *[Symbol.iterator](): Iterator<string> {
    yield* this.toArray();
  }

  /** Decodes strings from `first` on into `strings`, as many as make a run; returns the next to decode. */
  #decodeRun(first: number, strings: string[]): number {
    const { data, ends } = this;
    const start = first === 0 ? 0 : ends[first - 1];
    let next = first;
    let units = 0;
    let wellFormed = true;
    const unitEnds: number[] = [];
    let at = start;
    while (next < this.length && at - start < RUN_BYTES) {
      const end = ends[next];
      while (at < end) {
        const lead = data[at];
        if (lead < 0x80) {
          at++;
          units++;
          continue;
        }
        // How many UTF-16 units a character makes is in its first byte; that each one is complete
        // within its own string is checked, because the cut would be wrong otherwise.
        const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
        if (lead < 0xc0 || lead >= 0xf8 || at + size > end) wellFormed = false;
        for (let i = 1; i < size; i++) {
          if (at + i < end && (data[at + i] & 0xc0) !== 0x80) wellFormed = false;
        }
        units += size === 4 ? 2 : 1;
        at = wellFormed ? at + size : end;
      }
      unitEnds.push(units);
      next++;
    }
    const text = wellFormed ? decoder.decode(data.subarray(start, at)) : "";
    // Overlong forms and surrogates pass the check above and decode to more units than counted.
    if (wellFormed && text.length === units) {
      let from = 0;
      for (let i = first; i < next; i++) {
        const to = unitEnds[i - first];
        strings[i] = text.slice(from, to);
        from = to;
      }
    } else {
      for (let i = first; i < next; i++) strings[i] = this.at(i);
    }
    return next;
  }
}
