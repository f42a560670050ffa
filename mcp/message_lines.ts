/** Lines of a stream of bytes, of which the last may not have come whole. */
export class MessageLines {
  private parts: Uint8Array[] = [];
  private length = 0;

  /** @param most The longest line, in bytes. */
  constructor(private readonly most: number) {}

  /**
   * Takes bytes, and gives the lines that end in them, without their ends.
   *
   * @throws Where a line is longer than it may be.
   */
  *take(bytes: Uint8Array): Generator<string> {
    for (let start = 0;;) {
      const end = bytes.indexOf(LF, start);
      const part = bytes.subarray(start, end < 0 ? undefined : end);
      this.parts.push(part);
      this.length += part.length;
      if (this.length > this.most) throw new Error(`a message is longer than ${this.most} bytes`);
      if (end < 0) return;
      start = end + 1;
      yield this.line().replace(/\r$/, "");
    }
  }

  private line(): string {
    const whole = new Uint8Array(this.length);
    let at = 0;
    for (const part of this.parts) {
      whole.set(part, at);
      at += part.length;
    }
    this.parts = [];
    this.length = 0;
    return new TextDecoder().decode(whole);
  }
}

const LF = 10;
