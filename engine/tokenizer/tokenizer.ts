/**
 * Text to tokens and back. {@link loadTokenizer} reads a vocabulary out of GGUF metadata; the kind of
 * vocabulary is named by `tokenizer.ggml.model`.
 *
 * @module
 */
import { M40Error } from "../errors.ts";
import { SentencePiece } from "./sentencepiece.ts";
import { readVocabulary, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import { type TokenModel, VocabularyTokenizer } from "./vocabulary_tokenizer.ts";
import type { StreamingDecoder } from "./streaming_decoder.ts";

export type { StreamingDecoder } from "./streaming_decoder.ts";

/** How a text becomes tokens. */
export interface EncodeOptions {
  /** Whether BOS and EOS are added as the model asks for. Default true. */
  addSpecial?: boolean;
  /**
   * Whether the text of a control token, such as `<|im_end|>`, becomes that token. Default false:
   * what a user types can never act as a control token.
   */
  parseSpecial?: boolean;
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
  /** The number of tokens; every id is below it. */
  readonly vocabSize: number;
  /** The token that begins a sequence, if there is one. */
  readonly bos?: number;
  /** The token that ends a sequence, if there is one. */
  readonly eos?: number;
  /** The tokens at which generation stops: the end of the sequence, of the turn, of the message. */
  readonly endTokens: ReadonlySet<number>;
  /** Whether the model wants BOS in front of every sequence. */
  readonly addBos: boolean;
  /** Whether the model wants EOS behind every sequence. */
  readonly addEos: boolean;
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
  /** A decoder for tokens that arrive one by one. */
  decoder(options?: DecodeOptions): StreamingDecoder;
}

/** The kinds of vocabulary by their name in `tokenizer.ggml.model`. */
const MODELS = new Map<
  string,
  (vocabulary: Vocabulary, metadata: TokenizerMetadata) => TokenModel
>([
  ["llama", (vocabulary, metadata) => SentencePiece.load(vocabulary, metadata)],
]);

/**
 * The tokenizer that GGUF metadata describes.
 *
 * @throws {M40Error} `unsupported` for a kind of vocabulary that m40 does not know, `invalid_model`
 * for a vocabulary that is missing or contradicts itself.
 */
export function loadTokenizer(metadata: TokenizerMetadata): Tokenizer {
  if (!metadata.has("tokenizer.ggml.model")) {
    throw new M40Error(
      "invalid_model",
      "The file has no tokenizer (tokenizer.ggml.model is missing). Convert the model again together with its tokenizer.",
    );
  }
  const name = metadata.string("tokenizer.ggml.model");
  const load = MODELS.get(name);
  if (load === undefined) {
    throw new M40Error(
      "unsupported",
      `The tokenizer "${name}" (tokenizer.ggml.model) is not supported. Known: ${
        [...MODELS.keys()].join(", ")
      }.`,
    );
  }
  const vocabulary = readVocabulary(metadata);
  return new VocabularyTokenizer(vocabulary, load(vocabulary, metadata), metadata);
}
