import type { Tokenizer } from "../../engine/mod.ts";

/** The names of tokens beside their log-probabilities. */
export interface TokenName {
  /** Its text; `bytes:\xe2\x82` for a part of a character, as OpenAI writes it. */
  readonly name: string;
  /** What it stands for; null for a control token, which stands for nothing. */
  readonly bytes: Uint8Array | null;
}

/** A token's name. A model may have more logits than its vocabulary has tokens: those have none. */
export function tokenName(tokenizer: Tokenizer, token: number): TokenName {
  if (token >= tokenizer.vocabSize) return { name: "", bytes: null };
  if (tokenizer.isControl(token)) return { name: tokenizer.tokenText(token), bytes: null };
  const bytes = tokenizer.tokenBytes(token);
  return { name: wholeText(bytes) ?? `bytes:${hex(bytes)}`, bytes };
}

/** Bytes as text; undefined where they are not whole characters. */
export function wholeText(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => "\\x" + byte.toString(16).padStart(2, "0")).join("");
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
