import { SPACE_MARK } from "./space_mark.ts";
import { utf8Of } from "./utf8.ts";
import { invalidModel, TOKEN_TYPE, type Vocabulary } from "./vocabulary.ts";

/** Spells characters that a vocabulary does not have, by its byte tokens. */
export class ByteFallback {
  /** Whether a byte token is missing, so that some characters become the unknown token. */
  readonly lacksBytes: boolean;
  readonly #vocabulary: Vocabulary;

  /** @throws {M40Error} `invalid_model` when the vocabulary cannot spell every text. */
  constructor(vocabulary: Vocabulary) {
    const missing = vocabulary.byteTokens.indexOf(-1);
    if (missing >= 0 && vocabulary.unknown === undefined) {
      const name = `<0x${missing.toString(16).toUpperCase().padStart(2, "0")}>`;
      throw invalidModel(
        `The vocabulary cannot spell every text: it has no byte token ${name} and no unknown token.`,
      );
    }
    this.lacksBytes = missing >= 0;
    this.#vocabulary = vocabulary;
  }

  /**
   * Whether the text of a vocabulary that writes spaces as marks can become a user-defined or the unknown token: the
   * first where it has a mark, the second where bytes are missing.
   */
  isSpelled(token: number): boolean {
    const { texts, types } = this.#vocabulary;
    return types[token] === TOKEN_TYPE.unknown
      ? this.lacksBytes
      : texts[token].includes(SPACE_MARK);
  }

  /** Appends the byte tokens of a character, or the unknown token where one of them is missing. */
  spell(codePoint: number, tokens: number[]): void {
    const bytes = utf8Of(codePoint);
    const { byteTokens, unknown } = this.#vocabulary;
    for (const byte of bytes) {
      if (byteTokens[byte] < 0) {
        tokens.push(unknown!);
        return;
      }
    }
    for (const byte of bytes) tokens.push(byteTokens[byte]);
  }
}
