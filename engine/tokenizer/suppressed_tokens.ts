import { quoteKey } from "../gguf/mod.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { type TokenizerMetadata, tokenList, type Vocabulary } from "./vocabulary.ts";

/** The key with the tokens that must never be sampled. */
export const SUPPRESSED_KEY = "tokenizer.ggml.suppress_tokens";

/** Tokens that a note names. */
const MOST_NAMED = 5;

/**
 * The tokens that a file forbids: its makers know that the model would sample them where they mean nothing, such as
 * those that stand for pictures.
 *
 * @param onWarning Called with ids that are not in the vocabulary.
 * @throws {M40Error} `invalid_model` for what is no list of numbers.
 */
export function findSuppressedTokens(
  { size }: Vocabulary,
  metadata: TokenizerMetadata,
  onWarning?: (warning: string) => void,
): Set<number> {
  return new Set(tokenList(metadata, SUPPRESSED_KEY, size, onWarning));
}

/** A sentence about the tokens that are never sampled; undefined where there are none. */
export function describeSuppressed(
  tokenizer: Pick<Tokenizer, "suppressed" | "tokenText">,
): string | undefined {
  const ids = [...tokenizer.suppressed ?? []];
  if (ids.length === 0) return undefined;
  const named = ids.slice(0, MOST_NAMED).map((id) => quoteKey(tokenizer.tokenText(id))).join(", ");
  const more = ids.length > MOST_NAMED ? ` and ${ids.length - MOST_NAMED} more` : "";
  return `Never sampled, as its file wants it: ${named}${more}.`;
}
