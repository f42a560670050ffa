/**
 * Control tokens as bytes of a grammar: they stand for no text, so they are written as bytes that no UTF-8 has.
 *
 * @module
 */
import type { Tokenizer } from "../tokenizer/mod.ts";

/** The byte that begins a control token; no text has it. */
const MARK = 0xff;
/** Bytes of a control token: the mark, and its id by 7 bits, the high bit set. */
export const TOKEN_BYTES = 4;

/** A control token as bytes. Ids are below 2^21. */
export function tokenTerminal(token: number): Uint8Array {
  return Uint8Array.of(
    MARK,
    0x80 | (token >> 14) & 0x7f,
    0x80 | (token >> 7) & 0x7f,
    0x80 | token & 0x7f,
  );
}

/**
 * The bytes that a token is in a grammar: those of its text, or a terminal for a control token. None for a token
 * without text, and for one whose bytes would look like a terminal's.
 */
export function terminalBytes(
  tokenizer: Pick<Tokenizer, "tokenBytes" | "isControl">,
  token: number,
): Uint8Array {
  if (tokenizer.isControl(token)) return tokenTerminal(token);
  const bytes = tokenizer.tokenBytes(token);
  return bytes.includes(MARK) ? NO_BYTES : bytes;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);
