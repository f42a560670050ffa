import { M40Error } from "../errors.ts";
import { ByteLevelBpe } from "./byte_level_bpe.ts";
import { CharacterBpe } from "./character_bpe.ts";
import { findEndTokens } from "./end_tokens.ts";
import { findFimTokens } from "./fim_tokens.ts";
import { choosePreTokenizer } from "./pre_tokenizers.ts";
import { SentencePiece } from "./sentencepiece.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { Unigram } from "./unigram.ts";
import {
  invalidModel,
  readVocabulary,
  TokenIds,
  type TokenizerMetadata,
  type Vocabulary,
} from "./vocabulary.ts";
import { WordPiece } from "./word_piece.ts";
import { type TokenModel, VocabularyTokenizer } from "./vocabulary_tokenizer.ts";

/** What of a tokenizer is not in the file, or is to be otherwise. */
export interface TokenizerOptions {
  /** The pre-tokenizer, in place of the one that `tokenizer.ggml.pre` names. */
  preTokenizer?: string;
  /** Called, in a sentence, with what in the vocabulary may make the model worse. */
  onWarning?: (warning: string) => void;
}

/** How a kind of vocabulary is loaded. */
type Load = (
  vocabulary: Vocabulary,
  metadata: TokenizerMetadata,
  options: TokenizerOptions,
) => TokenModel;

/** The kinds of vocabulary by their name in `tokenizer.ggml.model`. */
const MODELS = new Map<string, Load>([
  ["llama", (vocabulary, metadata) => new SentencePiece(vocabulary, metadata)],
  ["gpt2", loadBpe],
  ["whitespace", loadBpe],
  ["gemma4", (vocabulary, metadata) => loadBpe(vocabulary, metadata, { preTokenizer: "gemma4" })],
  ["bert", (vocabulary, metadata) => new WordPiece(vocabulary, metadata)],
  ["t5", (vocabulary, metadata) => new Unigram(vocabulary, metadata)],
]);

function loadBpe(
  vocabulary: Vocabulary,
  metadata: TokenizerMetadata,
  options: TokenizerOptions,
): TokenModel {
  const { name, rules } = choosePreTokenizer(metadata, options);
  const Model = rules.characters ? CharacterBpe : ByteLevelBpe;
  return new Model(vocabulary, metadata, name, rules);
}

/**
 * Checks by name that a tokenizer is one of those that m40 knows, without reading its vocabulary.
 *
 * @throws {M40Error} `unsupported` where its kind or its pre-tokenizer is not known, `invalid_model` where there is
 * none.
 */
export function assertKnownTokenizer(metadata: TokenizerMetadata): void {
  if (kindOf(metadata).load === loadBpe) choosePreTokenizer(metadata, {});
}

/** The kind of vocabulary that a file names, and how it is loaded. */
function kindOf(metadata: TokenizerMetadata): { readonly name: string; readonly load: Load } {
  if (!metadata.has("tokenizer.ggml.model")) {
    throw invalidModel(
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
  return { name, load };
}

/**
 * The tokenizer that GGUF metadata describes.
 *
 * @throws {M40Error} `unsupported` for a kind of vocabulary, or a pre-tokenizer, that m40 does not know,
 * `invalid_model` for a vocabulary that is missing or contradicts itself, `invalid_request` for a
 * pre-tokenizer that is asked for where there is none.
 */
export function loadTokenizer(
  metadata: TokenizerMetadata,
  options: TokenizerOptions = {},
): Tokenizer {
  const { name, load } = kindOf(metadata);
  const { onWarning } = options;
  const vocabulary = readVocabulary(metadata, onWarning);
  // Before the model is loaded: these may make control tokens of others.
  const tokens = new TokenIds(metadata, vocabulary.size, onWarning);
  const endTokens = findEndTokens(vocabulary, tokens);
  const fim = findFimTokens(vocabulary, tokens);
  // Where the next file begins, what was to be filled in is written.
  for (const id of [fim?.pad, fim?.repository, fim?.separator]) {
    if (id !== undefined) endTokens.add(id);
  }
  // The file's makers know that the model would sample them where they mean nothing: those for pictures, say.
  const suppressed = new Set(tokens.list("tokenizer.ggml.suppress_tokens"));
  for (const id of suppressed) endTokens.delete(id);
  const model = load(vocabulary, metadata, options);
  const { preTokenizer } = options;
  if (preTokenizer !== undefined && preTokenizer !== model.preTokenizer) {
    throw new M40Error(
      "invalid_request",
      `--pre-tokenizer is for vocabularies of byte-level BPE ("gpt2"); this file's is "${name}" ` +
        "(tokenizer.ggml.model), which is cut in one way only. Leave it out.",
      "pre_tokenizer",
    );
  }
  return new VocabularyTokenizer(vocabulary, model, metadata, {
    endTokens,
    suppressed,
    fim,
    onWarning,
  });
}
