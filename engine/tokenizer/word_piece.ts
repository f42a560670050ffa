import { invalidModel, TOKEN_TYPE, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

/** What a GGUF file puts in front of the tokens that begin a word; the others have lost their `##`. */
const WORD_MARK = "\u2581";

/** A word of more characters is unknown as a whole, as BERT's own tokenizer has it. */
const LONGEST_WORD = 100;

/** Characters of Unicode's class "other" that are assigned, but those of white space; and U+FFFD. */
const REMOVED = new RegExp(String.raw`[[\p{C}--\p{Cn}--[\t\n\r]]\ufffd]`, "gv");

const ACCENTS = /\p{Mn}/gu;

/**
 * Chinese characters and punctuation, each of which is a word. The ranges are those of BERT's tokenizer
 * as Hugging Face has it (U+2B920, where Unicode says U+2B820); as it does, all of ASCII's symbols count
 * as punctuation.
 */
const APART = new RegExp(
  String.raw`[\p{P}$+<=>^\x60|~` +
    String
      .raw`\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}` +
    String.raw`\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]`,
  "u",
);

/** What a character does to the word before it. */
const enum Kind {
  /** Not looked up yet. */
  unknown,
  /** Goes on with it. */
  letter,
  /** Ends it. */
  space,
  /** Ends it, and is a word itself. */
  apart,
}

/** Punctuation in front of which decoding puts no space. */
const CLOSING = new Set([".", ",", "!", "?"]);

const SPACE = 0x20;

const encoder = new TextEncoder();

/**
 * BERT's WordPiece (`tokenizer.ggml.model` = "bert"). Text is cleaned and split at white space, punctuation and Chinese
 * characters. Each word is spelled with the longest token first; a word that cannot be spelled to its end is the
 * unknown token.
 *
 * The encoding is that of Hugging Face's BertTokenizer (Devlin et al. 2018). What it normalizes away,
 * and how many spaces there were, does not come back when tokens are decoded.
 */
export class WordPiece implements TokenModel {
  /** Decoding takes away the space in front of the first word. */
  readonly addSpacePrefix = true;
  readonly separatesWords = true;
  readonly addBosDefault = true;
  readonly addEosDefault = true;
  /** Whether letters become small ones. */
  readonly #lowercases: boolean;
  /** Whether what stands above and below letters is dropped. */
  readonly #stripsAccents: boolean;
  readonly #vocabulary: Vocabulary;
  readonly #unknown: number;
  /** The tokens that begin a word, and those that go on with one, by their text. */
  readonly #starting = new Map<string, number>();
  readonly #continuing = new Map<string, number>();
  /** The length of the longest of either, in code units. */
  #longest = 0;
  readonly #cache = new WordCache();
  /** The {@link Kind} of each code point that came up. */
  readonly #kinds = new Uint8Array(0x110000);

  /** @throws {M40Error} `invalid_model` where there is no unknown token. */
  constructor(vocabulary: Vocabulary, metadata: TokenizerMetadata) {
    const { texts, types, size, unknown } = vocabulary;
    if (unknown === undefined) {
      throw invalidModel(
        "The vocabulary cannot spell every text: it has no unknown token (tokenizer.ggml.unknown_token_id, [UNK]).",
      );
    }
    this.#vocabulary = vocabulary;
    this.#lowercases = metadata.boolean("tokenizer.ggml.normalizer.lowercase", true);
    this.#stripsAccents = metadata.boolean(
      "tokenizer.ggml.normalizer.strip_accents",
      this.#lowercases,
    );
    this.#unknown = unknown;
    for (let id = 0; id < size; id++) {
      if (types[id] === TOKEN_TYPE.control || types[id] === TOKEN_TYPE.unknown) continue;
      const begins = texts[id].startsWith(WORD_MARK) && texts[id] !== WORD_MARK;
      const text = begins ? texts[id].slice(WORD_MARK.length) : texts[id];
      if (text === "") continue;
      (begins ? this.#starting : this.#continuing).set(text, id);
      this.#longest = Math.max(this.#longest, text.length);
    }
  }

  encode(text: string, _first: boolean, tokens: number[]): void {
    const cleaned = this.#cleaned(text);
    const end = cleaned.length;
    let start = 0;
    for (let at = 0; at <= end;) {
      const codePoint = at < end ? cleaned.codePointAt(at)! : SPACE;
      const next = at + (codePoint > 0xffff ? 2 : 1);
      const kind = this.#kindOf(codePoint);
      if (kind !== Kind.letter) {
        if (at > start) this.#cache.encode(cleaned.substring(start, at), tokens, this.#spell);
        if (kind === Kind.apart) {
          this.#cache.encode(cleaned.substring(at, next), tokens, this.#spell);
        }
        start = next;
      }
      at = next;
    }
  }

  #kindOf(codePoint: number): Kind {
    const known = this.#kinds[codePoint];
    if (known !== Kind.unknown) return known;
    const character = String.fromCodePoint(codePoint);
    const kind = /\p{White_Space}/u.test(character)
      ? Kind.space
      : APART.test(character)
      ? Kind.apart
      : Kind.letter;
    return this.#kinds[codePoint] = kind;
  }

  #cleaned(text: string): string {
    let cleaned = text.replace(REMOVED, "");
    if (this.#stripsAccents) cleaned = cleaned.normalize("NFD").replace(ACCENTS, "");
    // JavaScript knows that a sigma at a word's end has another small letter; BERT does not.
    if (this.#lowercases) cleaned = cleaned.replaceAll("\u03a3", "\u03c3").toLowerCase();
    return cleaned;
  }

  readonly #spell = (word: string, tokens: number[]): void => {
    const count = tokens.length;
    let known = word.length <= LONGEST_WORD || [...word].length <= LONGEST_WORD;
    for (let at = 0; known && at < word.length;) {
      const ids = at === 0 ? this.#starting : this.#continuing;
      let id: number | undefined;
      let end = Math.min(word.length, at + this.#longest);
      while (end > at && (id = ids.get(word.substring(at, end))) === undefined) end--;
      if (id === undefined) known = false;
      else tokens.push(id);
      at = end;
    }
    if (known) return;
    tokens.length = count;
    tokens.push(this.#unknown);
  };

  isSpelled(token: number): boolean {
    const { texts, types } = this.#vocabulary;
    return types[token] === TOKEN_TYPE.unknown || token === this.#unknown ||
      texts[token].startsWith(WORD_MARK);
  }

  tokenBytes(token: number): Uint8Array {
    const text = this.#vocabulary.texts[token];
    if (!text.startsWith(WORD_MARK)) return encoder.encode(text);
    const word = text.slice(WORD_MARK.length);
    return encoder.encode(CLOSING.has(word) ? word : ` ${word}`);
  }
}
