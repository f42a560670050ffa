/** The text of a token. */
interface TokenText {
  /** A character a byte. */
  readonly text: string;
  /** Whether a breaker is in it, whole. */
  readonly breaks: boolean;
}

/** Texts at which repetitions end: sequence breakers. They may be spread over several tokens. */
export class SequenceBreakers {
  /** A character a byte. */
  private readonly breakers: readonly string[];
  /** Bytes of the longest. */
  private readonly longest: number;
  /** Of the tokens that were met. */
  private readonly known = new Map<number, TokenText>();

  /** @param tokenBytes The text of a token, in UTF-8. */
  constructor(
    breakers: readonly string[],
    private readonly tokenBytes: (token: number) => Uint8Array,
  ) {
    this.breakers = breakers.map((text) => characters(new TextEncoder().encode(text)));
    this.longest = Math.max(0, ...this.breakers.map(({ length }) => length));
  }

  /** Whether one of them ends in the token at an index. */
  endAt(tokens: readonly number[], index: number): boolean {
    if (this.longest === 0) return false;
    const { text, breaks } = this.textOf(tokens[index]);
    if (breaks || text.length === 0 || this.longest === 1) return breaks;
    let before = "";
    // No further than a breaker has bytes: tokens without text are no reason to look at all of them.
    const first = Math.max(0, index - this.longest + 1);
    for (let i = index - 1; i >= first && before.length < this.longest - 1; i--) {
      before = this.textOf(tokens[i]).text + before;
    }
    const all = before + text;
    return this.breakers.some((one) =>
      all.indexOf(one, Math.max(0, before.length - one.length + 1)) >= 0
    );
  }

  private textOf(token: number): TokenText {
    return this.known.getOrInsertComputed(token, () => {
      const text = characters(this.tokenBytes(token));
      return { text, breaks: this.breakers.some((one) => text.includes(one)) };
    });
  }
}

function characters(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
