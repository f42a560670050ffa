import { BpeSymbols, readMerges } from "./bpe_merges.ts";
import { ByteFallback } from "./byte_fallback.ts";
import { PreTokenizer } from "./pre_tokenizer.ts";
import type { CharacterRules, PreTokenizerRules } from "./pre_tokenizers.ts";
import { codePointOf, RankMerger } from "./rank_merger.ts";
import { hasInnerMark, SPACE_MARK, tokenBytesOf, wordEnd } from "./space_mark.ts";
import { isSpellable, TOKEN_TYPE, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

const WORD = /\S/;
const LINE_BREAKS = /^\n+$/;

/**
 * Byte pair encoding over characters (Gemma 4's and others' {@link PreTokenizerRules.characters}). Neighbours within
 * the pre-tokenizer's cuts merge by rank. A character that the vocabulary lacks becomes its UTF-8 bytes, or the unknown
 * token. Gemma 4 writes spaces as U+2581, and breaks of lines that are a token together are that token, as in
 * llama.cpp.
 *
 * Control, unknown and byte tokens are never merged into.
 */
export class CharacterBpe implements TokenModel {
  readonly addSpacePrefix: boolean;
  readonly addBosDefault: boolean;
  readonly addEosDefault = false;
  readonly alwaysAddsBos: boolean;
  readonly #rules: CharacterRules;
  readonly #lowercases: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #preTokenizer: PreTokenizer;
  readonly #symbols: BpeSymbols;
  readonly #fallback: ByteFallback;
  readonly #merger: RankMerger;
  readonly #cache = new WordCache();
  /** Whether a space mark never follows another character within a symbol, so that words are independent. */
  readonly #markOnlyLeads: boolean;

  /**
   * @param preTokenizer The name of the rules.
   * @throws {M40Error} `invalid_model` for merges that are missing or damaged, or when the vocabulary
   * cannot spell every text.
   */
  constructor(
    vocabulary: Vocabulary,
    metadata: TokenizerMetadata,
    readonly preTokenizer: string,
    rules: PreTokenizerRules,
  ) {
    const { types } = vocabulary;
    this.#vocabulary = vocabulary;
    this.addSpacePrefix = metadata.boolean("tokenizer.ggml.add_space_prefix", false);
    this.addBosDefault = rules.addBos ?? false;
    this.#rules = rules.characters ?? {};
    this.alwaysAddsBos = this.#rules.alwaysAddsBos ?? false;
    this.#lowercases = !this.#rules.marksSpaces &&
      metadata.boolean("tokenizer.ggml.normalizer.lowercase", false);
    this.#preTokenizer = new PreTokenizer(rules.cuts);
    this.#fallback = new ByteFallback(vocabulary);
    this.#symbols = new BpeSymbols(
      vocabulary,
      (token) => isSpellable(types[token]),
    );
    this.#merger = new RankMerger(readMerges(metadata, this.#symbols));
    this.#markOnlyLeads = !this.#symbols.some(hasInnerMark);
  }

  normalize(text: string): string {
    return this.#lowercases ? text.toLowerCase() : text;
  }

  encode(text: string, first: boolean, tokens: number[]): void {
    if (!this.#rules.marksSpaces) {
      this.#preTokenizer.forEach(text, (word) => {
        if (WORD.test(word)) this.#cache.encode(word, tokens, this.#spell);
      });
      return;
    }
    const marked = text.replaceAll(" ", SPACE_MARK);
    const spaced = first && this.addSpacePrefix && !marked.startsWith(SPACE_MARK)
      ? SPACE_MARK + marked
      : marked;
    this.#preTokenizer.forEach(spaced, (line) => {
      if (!this.#markOnlyLeads) {
        this.#spell(line, tokens);
        return;
      }
      for (let start = 0; start < line.length;) {
        const end = wordEnd(line, start);
        this.#cache.encode(line.substring(start, end), tokens, this.#spell);
        start = end;
      }
    });
  }

  isSpelled(token: number): boolean {
    // Without marks a user-defined token is found where its text is, and never spelled.
    return this.#fallback.isSpelled(token) &&
      (this.#rules.marksSpaces === true || this.#vocabulary.types[token] === TOKEN_TYPE.unknown);
  }

  tokenBytes(token: number): Uint8Array {
    return tokenBytesOf(this.#vocabulary, token, this.#rules.marksSpaces === true);
  }

  readonly #spell = (word: string, tokens: number[]): void => {
    if (this.#rules.keepsLineBreaks && LINE_BREAKS.test(word)) {
      const token = this.#symbols.findToken(word);
      if (token !== undefined) {
        tokens.push(token);
        return;
      }
    }
    const merger = this.#merger;
    const count = merger.mergeCharacters(word, (character) => this.#symbols.find(character));
    for (let i = 0; i < count; i++) this.#give(merger.symbols[i], tokens);
  };

  /** Appends the token of a symbol, or what spells it where it is none. */
  #give(symbol: number, tokens: number[]): void {
    if (symbol < 0) {
      this.#fallback.spell(codePointOf(symbol), tokens);
      return;
    }
    const text = this.#symbols.otherText(symbol);
    if (text === undefined) tokens.push(symbol);
    for (const character of text ?? "") {
      const token = this.#symbols.findToken(character);
      if (token !== undefined) tokens.push(token);
      else this.#fallback.spell(character.codePointAt(0)!, tokens);
    }
  }
}
