/** What a {@link StreamingDecoder} needs to know of a vocabulary. */
export interface TokenBytes {
  /** The bytes that a token shows as. */
  tokenBytes(token: number): Uint8Array;
  /** Whether text that follows the token starts anew, with a space prefix of its own. */
  startsText(token: number): boolean;
  /** Whether the space in front of text that starts is taken away. */
  readonly dropSpacePrefix: boolean;
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
  readonly #tokens: TokenBytes;
  readonly #utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  #atStart = true;

  constructor(tokens: TokenBytes) {
    this.#tokens = tokens;
  }

  /**
   * The text that is complete now; often a word, sometimes nothing.
   *
   * @throws {M40Error} `invalid_request` for an id that is not in the vocabulary.
   */
  push(token: number): string {
    let bytes = this.#tokens.tokenBytes(token);
    if (this.#tokens.startsText(token)) {
      this.#atStart = true;
    } else if (bytes.length > 0) {
      if (this.#atStart && this.#tokens.dropSpacePrefix && bytes[0] === SPACE) {
        bytes = bytes.subarray(1);
      }
      this.#atStart = false;
    }
    return this.#utf8.decode(bytes, { stream: true });
  }

  /** What is still held, at the end of the tokens: U+FFFD for a character that stayed incomplete. */
  flush(): string {
    this.#atStart = true;
    return this.#utf8.decode();
  }
}
