import { TOKEN_TYPE, type Vocabulary } from "./vocabulary.ts";

const encoder = new TextEncoder();

/** The character that stands for a space in the vocabularies of SentencePiece, both BPE and Unigram. */
export const SPACE_MARK = "\u2581";

/** Where the word ends that starts at a place: before the next space mark that follows another character. */
export function wordEnd(text: string, start: number): number {
  let end = start;
  while (text[end] === SPACE_MARK) end++;
  const next = text.indexOf(SPACE_MARK, end);
  return next < 0 ? text.length : next;
}

/** Whether a space mark follows another character within a token, so that words are not independent. */
export function hasInnerMark(text: string): boolean {
  const last = text.lastIndexOf(SPACE_MARK);
  return last > 0 && wordEnd(text, 0) <= last;
}

/** The UTF-8 bytes of a token; of a byte token that byte. `marked`: its spaces are written as marks. */
export function tokenBytesOf(
  { texts, types }: Vocabulary,
  token: number,
  marked = true,
): Uint8Array {
  const text = texts[token];
  if (types[token] === TOKEN_TYPE.byte) return Uint8Array.of(parseInt(text.slice(3, 5), 16));
  return encoder.encode(marked ? text.replaceAll(SPACE_MARK, " ") : text);
}
