import { M40Error } from "../errors.ts";
import { ByteFallback } from "./byte_fallback.ts";
import { PairMerger } from "./pair_merger.ts";
import { markedTokenBytes, SPACE_MARK } from "./space_mark.ts";
import { TokenPairs } from "./token_pairs.ts";
import { TOKEN_TYPE, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

/** How a SentencePiece vocabulary treats spaces. */
export interface SentencePieceOptions {
  /** `tokenizer.ggml.add_space_prefix`: text begins with a space, whether it had one or not. */
  addSpacePrefix: boolean;
  /**
   * `tokenizer.ggml.remove_extra_whitespaces`: spaces at the ends are dropped, several in a row are one.
   */
  removeExtraWhitespaces: boolean;
}

/**
 * SentencePiece's BPE (`tokenizer.ggml.model` = "llama"): spaces are written U+2581, neighbours merge
 * by score, and a character that the vocabulary does not have becomes its UTF-8 bytes.
 *
 * The encoding is llama.cpp's for this kind of vocabulary, which is SentencePiece's, with the
 * differences that special tokens may stand in the text and that unused pieces count as any other.
 * Control, unknown and byte tokens are never merged into: text such as `<0x0A>` stays what it is.
 */
export class SentencePiece implements TokenModel {
  readonly addBosDefault = true;
  readonly addEosDefault = false;
  readonly addSpacePrefix: boolean;
  readonly #removeExtraWhitespaces: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #fallback: ByteFallback;
  readonly #merger: PairMerger;
  readonly #pairs = new TokenPairs();
  readonly #cache = new WordCache();

  /** @throws {M40Error} `invalid_model` when the vocabulary cannot spell every text. */
  constructor(vocabulary: Vocabulary, options: SentencePieceOptions) {
    const { texts, types, scores, size } = vocabulary;
    if (scores === undefined) {
      throw new M40Error(
        "invalid_model",
        'tokenizer.ggml.scores is missing; a "llama" vocabulary (tokenizer.ggml.model) needs it to merge.',
      );
    }
    this.#vocabulary = vocabulary;
    this.#fallback = new ByteFallback(vocabulary);
    this.addSpacePrefix = options.addSpacePrefix;
    this.#removeExtraWhitespaces = options.removeExtraWhitespaces;
    const ids = new Map<string, number>();
    for (let id = 0; id < size; id++) {
      const type = types[id];
      const text = texts[id];
      if (
        type === TOKEN_TYPE.control || type === TOKEN_TYPE.unknown || type === TOKEN_TYPE.byte ||
        text === ""
      ) continue;
      ids.set(text, id);
      this.#pairs.add(text.replaceAll(SPACE_MARK, " "));
    }
    this.#merger = new PairMerger(ids, scores);
  }

  /** Reads the options out of the metadata. */
  static load(vocabulary: Vocabulary, metadata: TokenizerMetadata): SentencePiece {
    return new SentencePiece(vocabulary, {
      addSpacePrefix: metadata.boolean("tokenizer.ggml.add_space_prefix", true),
      removeExtraWhitespaces: metadata.boolean("tokenizer.ggml.remove_extra_whitespaces", false),
    });
  }

  normalize(text: string): string {
    if (!this.#removeExtraWhitespaces) return text;
    return text.replace(/ {2,}/g, " ").replace(/^ | $/g, "");
  }

  encode(text: string, first: boolean, tokens: number[]): void {
    // To such a vocabulary the mark is a space. Without it most texts stay one byte a character.
    let spaced = text.replaceAll(SPACE_MARK, " ");
    if (first && this.addSpacePrefix) spaced = ` ${spaced}`;
    for (let start = 0; start < spaced.length;) {
      const end = this.#pairs.partEnd(spaced, start);
      this.#cache.encode(spaced.substring(start, end), tokens, this.#merge);
      start = end;
    }
  }

  readonly #merge = (text: string, tokens: number[]): void => {
    const marked = text.replaceAll(" ", SPACE_MARK);
    this.#merger.merge(marked, tokens, (codePoint) => this.#fallback.spell(codePoint, tokens));
  };

  isSpelled(token: number): boolean {
    return this.#fallback.isSpelled(token);
  }

  tokenBytes(token: number): Uint8Array {
    return markedTokenBytes(this.#vocabulary, token);
  }
}
