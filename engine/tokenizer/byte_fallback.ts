import { M40Error } from "../errors.ts";
import { utf8Of } from "./utf8.ts";
import type { Vocabulary } from "./vocabulary.ts";

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
      throw new M40Error(
        "invalid_model",
        `The vocabulary cannot spell every text: it has no byte token ${name} and no unknown token.`,
      );
    }
    this.lacksBytes = missing >= 0;
    this.#vocabulary = vocabulary;
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
