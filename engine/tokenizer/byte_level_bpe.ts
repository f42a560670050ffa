import { M40Error } from "../errors.ts";
import { BpeSymbols, readMerges } from "./bpe_merges.ts";
import { BYTE_CHARACTERS, bytesOfAlphabet, textOfBytes } from "./byte_alphabet.ts";
import { PreTokenizer } from "./pre_tokenizer.ts";
import type { PreTokenizerRules } from "./pre_tokenizers.ts";
import { RankMerger } from "./rank_merger.ts";
import { writeBytes } from "./utf8.ts";
import { TOKEN_TYPE, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import type { TokenModel } from "./vocabulary_tokenizer.ts";
import { WordCache } from "./word_cache.ts";

/** How many bytes the buffer of a word keeps between words. */
const KEPT_BYTES = 1 << 14;
/** U+FFFD. */
const REPLACEMENT = [0xef, 0xbf, 0xbd];
const NO_BYTES = new Uint8Array(0);
const encoder = new TextEncoder();

/**
 * Byte-level byte pair encoding (`tokenizer.ggml.model` = "gpt2"), after GPT-2: text is cut into words by
 * the pre-tokenizer, and each word's UTF-8 bytes merge by rank. Any text can be spelled.
 *
 * Control, unknown, user-defined and byte tokens are never merged into: special tokens are found before
 * text comes here, and what is typed otherwise stays what it is.
 */
export class ByteLevelBpe implements TokenModel {
  readonly addSpacePrefix: boolean;
  readonly addBosDefault: boolean;
  readonly addEosDefault = false;
  readonly #vocabulary: Vocabulary;
  readonly #ignoreMerges: boolean;
  readonly #preTokenizer: PreTokenizer;
  readonly #bytePreTokenizer?: PreTokenizer;
  readonly #symbols: BpeSymbols;
  /** The symbol of each byte. */
  readonly #byteSymbols: Int32Array;
  readonly #merger: RankMerger;
  readonly #cache = new WordCache();
  #bytes = new Uint8Array(KEPT_BYTES);

  /**
   * @param preTokenizer The name of the rules.
   * @throws {M40Error} `invalid_model` for merges that are missing or damaged.
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
    this.#ignoreMerges = rules.ignoreMerges ?? false;
    this.#preTokenizer = new PreTokenizer(rules.cuts);
    if (rules.byteCuts) this.#bytePreTokenizer = new PreTokenizer(rules.byteCuts);
    this.#symbols = new BpeSymbols(vocabulary, (token) => isText(types[token]));
    this.#merger = new RankMerger(readMerges(metadata, this.#symbols));
    this.#byteSymbols = Int32Array.from(
      BYTE_CHARACTERS,
      (character) => this.#symbols.symbolOf(character),
    );
  }

  encode(text: string, first: boolean, tokens: number[]): void {
    const spaced = first && this.addSpacePrefix && !text.startsWith(" ") ? ` ${text}` : text;
    this.#preTokenizer.forEach(spaced, (word) => this.#cache.encode(word, tokens, this.#spell));
  }

  isSpelled(_token: number): boolean {
    return false;
  }

  tokenBytes(token: number): Uint8Array {
    const { texts, types } = this.#vocabulary;
    const text = texts[token];
    if (types[token] === TOKEN_TYPE.byte) return Uint8Array.of(parseInt(text.slice(3, 5), 16));
    // What others have added to a vocabulary need not be of the alphabet, and is text then.
    const bytes = isText(types[token]) ? bytesOfAlphabet(text) : undefined;
    return bytes ?? encoder.encode(text);
  }

  readonly #spell = (word: string, tokens: number[]): void => {
    const bytes = this.#bytesOf(word);
    if (this.#bytePreTokenizer === undefined) {
      this.#spellBytes(bytes, tokens);
      return;
    }
    this.#bytePreTokenizer.forEach(
      textOfBytes(bytes),
      (part) => this.#spellBytes(bytesOfAlphabet(part)!, tokens),
    );
  };

  #spellBytes(bytes: Uint8Array, tokens: number[]): void {
    if (this.#ignoreMerges) {
      const token = this.#symbols.findToken(textOfBytes(bytes));
      if (token !== undefined) {
        tokens.push(token);
        return;
      }
    }
    const merger = this.#merger;
    merger.reserve(bytes.length);
    for (let i = 0; i < bytes.length; i++) merger.symbols[i] = this.#byteSymbols[bytes[i]];
    const count = merger.merge(bytes.length);
    for (let i = 0; i < count; i++) this.#give(merger.symbols[i], tokens);
  }

  /** Appends the token of a symbol, or those of its bytes where it is none. */
  #give(symbol: number, tokens: number[]): void {
    const text = this.#symbols.otherText(symbol);
    if (text === undefined) {
      tokens.push(symbol);
      return;
    }
    for (const byte of bytesOfAlphabet(text) ?? NO_BYTES) this.#giveByte(byte, tokens);
  }

  #giveByte(byte: number, tokens: number[]): void {
    const { size, unknown } = this.#vocabulary;
    const symbol = this.#byteSymbols[byte];
    if (symbol < size) tokens.push(symbol);
    else if (unknown !== undefined) tokens.push(unknown);
    // Vocabularies without the bytes that UTF-8 never has can spell every text nevertheless.
    else if (isNeverUtf8(byte)) { for (const part of REPLACEMENT) this.#giveByte(part, tokens); }
    else {throw new M40Error(
        "invalid_request",
        `The vocabulary cannot spell this text: it has no token for the byte 0x${
          byte.toString(16).padStart(2, "0")
        } and no unknown token.`,
      );}
  }

  /** The bytes of a word; valid until the next. */
  #bytesOf(word: string): Uint8Array {
    const wanted = 3 * word.length;
    if (this.#bytes.length < wanted || this.#bytes.length > Math.max(wanted, KEPT_BYTES)) {
      this.#bytes = new Uint8Array(Math.max(wanted, KEPT_BYTES));
    }
    return this.#bytes.subarray(0, writeBytes(word, this.#bytes));
  }
}

/** Whether a byte is in no UTF-8: it would be an overlong form, or beyond U+10FFFF. */
function isNeverUtf8(byte: number): boolean {
  return byte === 0xc0 || byte === 0xc1 || byte > 0xf4;
}

/** Whether the text of tokens of a type is written in the byte alphabet. */
function isText(type: number): boolean {
  return type === TOKEN_TYPE.normal || type === TOKEN_TYPE.unused || type === TOKEN_TYPE.undefined;
}
