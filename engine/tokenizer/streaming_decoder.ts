/** What a {@link StreamingDecoder} needs to know of a vocabulary. */
export interface TokenBytes {
  /** The bytes that a token shows as. */
  tokenBytes(token: number): Uint8Array;
  /** Whether text after the token starts again, with a space prefix of its own. */
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
  /** Made when the first token comes that is not plain ASCII. */
  #utf8?: TextDecoder;
  #atStart = true;
  /** Whether the decoder may hold bytes of a character that is not complete. */
  #mayHold = false;

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
    if (bytes.length === 0) return "";
    if (!this.#mayHold) {
      const text = asciiText(bytes);
      if (text !== undefined) return text;
    }
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

/** Most tokens by far are plain ASCII; for those `TextDecoder`, which leaves JavaScript, is slow. */
function asciiText(bytes: Uint8Array): string | undefined {
  let text = "";
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] >= 0x80) return undefined;
    text += String.fromCharCode(bytes[i]);
  }
  return text;
}
