/**
 * Text to tokens and back. {@link loadTokenizer} reads a vocabulary out of GGUF metadata; the kind of
 * vocabulary is named by `tokenizer.ggml.model`.
 *
 * @module
 */
import { M40Error } from "../errors.ts";
import { SentencePiece } from "./sentencepiece.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { readVocabulary, type TokenizerMetadata, type Vocabulary } from "./vocabulary.ts";
import { WordPiece } from "./word_piece.ts";
import { type TokenModel, VocabularyTokenizer } from "./vocabulary_tokenizer.ts";

/** The kinds of vocabulary by their name in `tokenizer.ggml.model`. */
const MODELS = new Map<
  string,
  (vocabulary: Vocabulary, metadata: TokenizerMetadata) => TokenModel
>([
  ["llama", (vocabulary, metadata) => SentencePiece.load(vocabulary, metadata)],
  ["bert", (vocabulary, metadata) => WordPiece.load(vocabulary, metadata)],
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
