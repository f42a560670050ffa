import type { FimTokens } from "./fim_tokens.ts";
import type { StreamingDecoder } from "./streaming_decoder.ts";

/** How a text becomes tokens. */
export interface EncodeOptions {
  /** Whether BOS and EOS are added as the model asks for. Default true. */
  addSpecial?: boolean;
  /**
   * Whether the text of a control token, such as `<|im_end|>`, becomes that token. Default false:
   * what a user types can never act as a control token.
   */
  parseSpecial?: boolean;
  /**
   * The mark that {@link Tokenizer.protect} has put into parts of the text: a control token is not
   * looked for across it, and it is removed from what is plain text.
   */
  mark?: string;
}

/** How tokens become a text. */
export interface DecodeOptions {
  /** Whether control tokens leave no text. Default true; false shows them as the vocabulary does. */
  skipSpecial?: boolean;
  /**
   * Whether the tokens continue a text that is already there, as generated tokens continue a prompt.
   * Default false: the tokens are a whole text, and the space that encoding put in front of it (and
   * in front of text after a special token) is taken away again. True keeps every space.
   */
  continuing?: boolean;
}

/** A vocabulary and the way in and out of it. */
export interface Tokenizer {
  /** The kind of vocabulary: `tokenizer.ggml.model`. */
  readonly kind: string;
  /** The name of the rules by which text is cut into words, in kinds that have such. */
  readonly preTokenizer?: string;
  /** The number of tokens; every id is below it. */
  readonly vocabSize: number;
  /** The token that begins a sequence, if there is one. */
  readonly bos?: number;
  /** The token that ends a sequence, if there is one. */
  readonly eos?: number;
  /** The tokens at which generation stops: the end of the sequence, of the turn, of the message. */
  readonly endTokens: ReadonlySet<number>;
  /** The tokens that must never be sampled; absent: none. No token that ends an answer is among them. */
  readonly suppressed?: ReadonlySet<number>;
  /** Whether the model wants BOS in front of every sequence. */
  readonly addBos: boolean;
  /** Whether the model wants EOS behind every sequence. */
  readonly addEos: boolean;
  /** The tokens for filling in the middle of a text, where the vocabulary has them. */
  readonly fim?: FimTokens;
  /** The tokens of a text. A lone surrogate counts as U+FFFD, as everywhere where text becomes UTF-8. */
  encode(text: string, options?: EncodeOptions): number[];
  /** The tokens of bytes that are meant as UTF-8; a byte that is not keeps its value as a byte token. */
  encodeBytes(bytes: Uint8Array, options?: EncodeOptions): number[];
  /**
   * The text of tokens; bytes that are no UTF-8 come out as U+FFFD, as `TextDecoder` does.
   *
   * @throws {M40Error} `invalid_request` for an id that is not in the vocabulary.
   */
  decode(tokens: Iterable<number>, options?: DecodeOptions): string;
  /** The bytes that a token stands for: UTF-8, possibly a part of a character; none for a control token. */
  tokenBytes(token: number): Uint8Array;
  /** The token as the vocabulary writes it. */
  tokenText(token: number): string;
  /** Whether a token steers the model and stands for no text. */
  isControl(token: number): boolean;
  /** The token that the vocabulary writes like this; a special one before others, then the lowest id. */
  tokenId(text: string): number | undefined;
  /**
   * A text with a mark after the first character of every control token's text in it, so that none of
   * them is one: {@link EncodeOptions.mark} takes the marks out again. User-defined tokens, which stand
   * for their text wherever it is, are left as they are.
   *
   * @param mark One code point that is not in the text.
   * @throws {M40Error} `invalid_request` for a mark that is not one code point or is in the text.
   */
  protect(text: string, mark: string): string;
  /**
   * The fewest tokens that a text can have, if that is known to be more than `most`: such a text need not be
   * encoded, which takes time in proportion to its length.
   */
  leastBeyond(text: string, most: number): number | undefined;
  /** The prefix of a text that has at least its first `most` tokens; all of a text that may have no more. */
  within(text: string, most: number): string;
  /** A decoder for tokens that arrive one by one. */
  decoder(options?: DecodeOptions): StreamingDecoder;
}
