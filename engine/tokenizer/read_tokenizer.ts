import { auditMetadata } from "../gguf/audit/mod.ts";
import type { Gguf } from "../gguf/reader.ts";
import { loadTokenizer, type TokenizerOptions } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";

/**
 * The tokenizer of a file, and what of its metadata was not understood: `onWarning` is told.
 *
 * @throws {M40Error} As {@link loadTokenizer} does; "unsupported" also for metadata that nobody reads though it changes
 * which tokens a text becomes.
 */
export function readTokenizer(gguf: Gguf, options: TokenizerOptions = {}): Tokenizer {
  const tokenizer = loadTokenizer(gguf.metadata, options);
  for (const warning of auditMetadata(gguf, "tokenizer")) options.onWarning?.(warning);
  return tokenizer;
}
