/**
 * The alphabet in which byte-level vocabularies write bytes as characters, after GPT-2's encoder. A printable character
 * of Latin-1 stands for its byte; the other bytes are U+0100 and on, in their order. A space is `Ġ`.
 *
 * @module
 */

/** The character of each byte. */
export const BYTE_CHARACTERS: readonly string[] = makeAlphabet();

/** By code unit: its byte plus one, or 0. */
const BYTE_OF_UNIT = new Uint16Array(0x200);
for (const [byte, character] of BYTE_CHARACTERS.entries()) {
  BYTE_OF_UNIT[character.charCodeAt(0)] = byte + 1;
}

function makeAlphabet(): string[] {
  const characters: string[] = [];
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
    characters.push(String.fromCharCode(isPrintable ? byte : next++));
  }
  return characters;
}

/** The bytes that a text of the alphabet stands for; undefined where a character is not of it. */
export function bytesOfAlphabet(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const byte = unit < BYTE_OF_UNIT.length ? BYTE_OF_UNIT[unit] : 0;
    if (byte === 0) return undefined;
    bytes[i] = byte - 1;
  }
  return bytes;
}

/** Bytes in the alphabet. */
export function textOfBytes(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += BYTE_CHARACTERS[byte];
  return text;
}
