/**
 * What a terminal obeys or that changes how other characters are shown: control characters but line feed and tab,
 * separators of lines, and format characters (overrides of the writing's direction, invisible ones). Joiners and the
 * marks of direction stay: scripts and emoji are written with them, and they move nothing but their neighbours. So
 * do signs of Arabic and Syriac that are seen.
 */
const OBEYED =
  // deno-lint-ignore no-control-regex
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]|(?![\u200c-\u200f\u0600-\u0605\u06dd\u070f\u08e2])\p{Cf}/gu;

/**
 * Makes text from a file, a model, a server or a client safe for a terminal. Characters that would move the cursor,
 * change the order of characters or hide some are spelled out, as `\x1b` and `\u{202e}`.
 */
export function printable(text: string): string {
  return text.replace(OBEYED, spelled);
}

/** Text of which a person has to see each character, as before a consent: no format character stays. */
export function visible(text: string): string {
  return printable(text).replace(/\p{Cf}/gu, spelled);
}

function spelled(character: string): string {
  const hex = character.codePointAt(0)!.toString(16);
  return character < "\u0100" ? `\\x${hex.padStart(2, "0")}` : `\\u{${hex}}`;
}
