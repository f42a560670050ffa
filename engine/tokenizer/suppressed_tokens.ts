import { quoteKey } from "../gguf/mod.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Tokens that a note names. */
const MOST_NAMED = 5;

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
