/** What a {@link StreamingDecoder} needs to know of a token. */
export interface ShownToken {
  /** The bytes that it shows as. */
  readonly bytes: Uint8Array;
  /** The same as text, where all of them are ASCII. */
  readonly ascii?: string;
  /** Whether text after it starts again, with a space prefix of its own. */
  readonly startsText: boolean;
}

const SPACE = 0x20;

/**
 * Text out of tokens that arrive one by one. A token may be a part of a character: its bytes are held
 * until the character is complete, so that no reader ever sees half of one. Bytes that can never become
 * a character come out as U+FFFD, where `TextDecoder` would put it.
 *
 * All results of {@link push} and the one of {@link flush}, one after the other, are the text that
 * `decode()` gives for all the tokens.
 */
export class StreamingDecoder {
  readonly #shown: (token: number) => ShownToken;
  readonly #dropSpacePrefix: boolean;
  /** Made when the first token comes that is not plain ASCII. */
  #utf8?: TextDecoder;
  #atStart = true;
  /** Whether the decoder may hold bytes of a character that is not complete. */
  #mayHold = false;

  /**
   * @param shown What a token is.
   * @param dropSpacePrefix Whether the space in front of text that starts is taken away.
   */
  constructor(shown: (token: number) => ShownToken, dropSpacePrefix: boolean) {
    this.#shown = shown;
    this.#dropSpacePrefix = dropSpacePrefix;
  }

  /**
   * The text that is complete now; often a word, sometimes nothing.
   *
   * @throws {M40Error} `invalid_request` for an id that is not in the vocabulary.
   */
  push(token: number): string {
    const { bytes: all, ascii, startsText } = this.#shown(token);
    let from = 0;
    if (startsText) {
      this.#atStart = true;
    } else if (all.length > 0) {
      if (this.#atStart && this.#dropSpacePrefix && all[0] === SPACE) from = 1;
      this.#atStart = false;
    }
    // Most tokens by far are plain ASCII; for those TextDecoder, which leaves JavaScript, is slow.
    if (ascii !== undefined && !this.#mayHold) return from === 0 ? ascii : ascii.slice(from);
    const bytes = all.subarray(from);
    if (bytes.length === 0) return "";
    // After a byte of ASCII nothing can be incomplete.
    this.#mayHold = bytes[bytes.length - 1] >= 0x80;
    this.#utf8 ??= new TextDecoder("utf-8", { ignoreBOM: true });
    return this.#utf8.decode(bytes, { stream: true });
  }

  /** What is still held, at the end of the tokens: U+FFFD for a character that stayed incomplete. */
  flush(): string {
    this.#atStart = true;
    return this.breakOff();
  }

  /** What is held, where the text is interrupted: U+FFFD for a character that is incomplete. */
  breakOff(): string {
    if (!this.#mayHold) return "";
    this.#mayHold = false;
    return this.#utf8!.decode();
  }
}

/** What each token stands for by itself, in the middle of a text. Kept, since the same ones come often. */
export class TokenTexts {
  private readonly texts: (string | undefined)[] = [];

  /** @param tokenizer What decodes them. */
  constructor(
    private readonly tokenizer: {
      readonly vocabSize: number;
      decode(tokens: readonly number[], options: { continuing: boolean }): string;
    },
  ) {}

  /** U+FFFD where a token is part of a character; "" of what a model has logits for beyond its vocabulary. */
  of(token: number): string {
    if (token >= this.tokenizer.vocabSize) return "";
    return this.texts[token] ??= this.tokenizer.decode([token], { continuing: true });
  }
}
