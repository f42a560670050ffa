import type { Tokenizer } from "../tokenizer/mod.ts";

/**
 * The tokens of a text that goes on from another one, control tokens' texts among it. Some vocabularies put
 * a space in front of a text; within one there is none.
 */
export function encodeWithin(tokenizer: Tokenizer, text: string): readonly number[] {
  const encode = (text: string) =>
    tokenizer.encode(text, { addSpecial: false, parseSpecial: true });
  const tokens = encode(text);
  const shown = tokenizer.decode(tokens, { continuing: true, skipSpecial: false });
  if (shown === text) return tokens;
  const line = encode("\n");
  const behindLine = encode(`\n${text}`);
  return line.every((token, i) => token === behindLine[i]) ? behindLine.slice(line.length) : tokens;
}
