import { ByteFallback } from "./byte_fallback.ts";
import { codePointOf, RankMerger } from "./rank_merger.ts";
import { ScoreMerges } from "./score_merges.ts";
import { SPACE_MARK, tokenBytesOf } from "./space_mark.ts";
import {
  invalidModel,
  isSpellable,
  type TokenizerMetadata,
  type Vocabulary,
} from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

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
  /** Text begins with a space, whether it had one or not. */
  readonly addSpacePrefix: boolean;
  /** Spaces at the ends are dropped, several in a row are one. */
  readonly #removeExtraWhitespaces: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #fallback: ByteFallback;
  /** The tokens that text can become, by their text. */
  readonly #ids = new Map<string, number>();
  readonly #merger: RankMerger;
  readonly #pairs = new TokenPairs();
  readonly #cache = new WordCache();

  /** @throws {M40Error} `invalid_model` when the vocabulary cannot spell every text. */
  constructor(vocabulary: Vocabulary, metadata: TokenizerMetadata) {
    const { texts, types, scores, size } = vocabulary;
    if (scores === undefined) {
      throw invalidModel(
        'tokenizer.ggml.scores is missing; a "llama" vocabulary (tokenizer.ggml.model) needs it to merge.',
      );
    }
    this.#vocabulary = vocabulary;
    this.#fallback = new ByteFallback(vocabulary);
    this.addSpacePrefix = metadata.boolean("tokenizer.ggml.add_space_prefix", true);
    this.#removeExtraWhitespaces = metadata.boolean(
      "tokenizer.ggml.remove_extra_whitespaces",
      false,
    );
    for (let id = 0; id < size; id++) {
      if (!isSpellable(types[id]) || texts[id] === "") continue;
      this.#ids.set(texts[id], id);
      this.#pairs.add(texts[id].replaceAll(SPACE_MARK, " "));
    }
    this.#merger = new RankMerger(new ScoreMerges(this.#ids, texts, scores));
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
    const merger = this.#merger;
    const marked = text.replaceAll(" ", SPACE_MARK);
    const count = merger.mergeCharacters(marked, (character) => this.#ids.get(character));
    for (let i = 0; i < count; i++) {
      const symbol = merger.symbols[i];
      if (symbol >= 0) tokens.push(symbol);
      else this.#fallback.spell(codePointOf(symbol), tokens);
    }
  };

  isSpelled(token: number): boolean {
    return this.#fallback.isSpelled(token);
  }

  tokenBytes(token: number): Uint8Array {
    return tokenBytesOf(this.#vocabulary, token);
  }
}

/** The binary logarithm of the number of bits. */
const BITS_LOG2 = 22;

/**
 * The pairs of neighbouring code units within the texts of tokens. No token reaches across any other
 * pair, so a text can be cut there, and its parts become tokens by themselves.
 *
 * Each pair is one bit of a table, which it may share with others: such a one is taken for a pair of a
 * token, and the text not cut there.
 */
class TokenPairs {
  readonly #bits = new Uint32Array(1 << (BITS_LOG2 - 5));

  /** Adds the pairs of a token's text. */
  add(text: string): void {
    for (let at = 1; at < text.length; at++) {
      const bit = bitOf(text.charCodeAt(at - 1), text.charCodeAt(at));
      this.#bits[bit >>> 5] |= 1 << (bit & 31);
    }
  }

  /** Where the part of a text that begins at `start` ends: before the second of the next pair of no token. */
  partEnd(text: string, start: number): number {
    const bits = this.#bits;
    let left = text.charCodeAt(start);
    for (let at = start + 1; at < text.length; at++) {
      const right = text.charCodeAt(at);
      const bit = bitOf(left, right);
      // The halves of a character stay together.
      if ((bits[bit >>> 5] >>> (bit & 31) & 1) === 0 && (right & 0xfc00) !== 0xdc00) return at;
      left = right;
    }
    return text.length;
  }
}

function bitOf(left: number, right: number): number {
  return Math.imul((left << 16) | right, 0x9e3779b1) >>> (32 - BITS_LOG2);
}
