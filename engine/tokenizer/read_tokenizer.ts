import { auditMetadata, type AuditOptions, type Gguf, unknownKeysWarning } from "../gguf/mod.ts";
import { loadTokenizer, type TokenizerOptions } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * The tokenizer of a file, and what of its metadata was not understood: `onWarning` gets it.
 *
 * @throws {M40Error} As {@link loadTokenizer} does; "unsupported" also for metadata that was not read though it changes
 * which tokens a text becomes.
 */
export function readTokenizer(
  gguf: Gguf,
  options: TokenizerOptions & AuditOptions = {},
): Tokenizer {
  const tokenizer = loadTokenizer(gguf.metadata, options);
  const unknown = auditMetadata(gguf, "tokenizer");
  if (options.onUnknownKeys) options.onUnknownKeys(unknown);
  else for (const warning of unknownKeysWarning(unknown)) options.onWarning?.(warning);
  return tokenizer;
}
