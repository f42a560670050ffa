const encoder = new TextEncoder();

/**
 * Bytes that need not be UTF-8 as a string, without loss. Valid bytes become their characters. An invalid byte b
 * becomes the lone surrogate U+DC00 + b, which no valid UTF-8 can produce; Python calls this "surrogateescape".
 */
export function bytesToText(bytes: Uint8Array): string {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    return decoder.decode(bytes);
  } catch {
    // Not valid as a whole: look for the parts that are.
  }
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    if (length > 0) {
      at += length;
      continue;
    }
    if (at > start) parts.push(decoder.decode(bytes.subarray(start, at)));
    parts.push(String.fromCharCode(0xdc00 + bytes[at]));
    start = ++at;
  }
  if (bytes.length > start) parts.push(decoder.decode(bytes.subarray(start)));
  return parts.join("");
}

/** The byte that a surrogate of {@link bytesToText} stands for, or undefined. */
export function escapedByte(codePoint: number): number | undefined {
  return codePoint >= 0xdc80 && codePoint <= 0xdcff ? codePoint - 0xdc00 : undefined;
}

/** The bytes of a character, or the one that a surrogate of {@link bytesToText} stands for. */
export function utf8Of(codePoint: number): Iterable<number> {
  if (codePoint < 0x80) return [codePoint];
  const byte = escapedByte(codePoint);
  return byte !== undefined ? [byte] : encoder.encode(String.fromCodePoint(codePoint));
}

/**
 * Writes a text as UTF-8 and the bytes that {@link bytesToText} has escaped as they were. Another lone
 * surrogate counts as U+FFFD.
 *
 * @param bytes At least three for each code unit.
 * @returns How many bytes were written.
 */
export function writeBytes(text: string, bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) {
      bytes[count++] = unit;
    } else if (unit < 0x800) {
      bytes[count++] = 0xc0 | (unit >> 6);
      bytes[count++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      count = writeThree(unit, bytes, count);
    } else {
      const codePoint = text.codePointAt(at)!;
      if (codePoint > 0xffff) {
        at++;
        bytes[count++] = 0xf0 | (codePoint >> 18);
        bytes[count++] = 0x80 | ((codePoint >> 12) & 0x3f);
        bytes[count++] = 0x80 | ((codePoint >> 6) & 0x3f);
        bytes[count++] = 0x80 | (codePoint & 0x3f);
      } else {
        const byte = escapedByte(codePoint);
        if (byte !== undefined) bytes[count++] = byte;
        else count = writeThree(0xfffd, bytes, count);
      }
    }
  }
  return count;
}

function writeThree(unit: number, bytes: Uint8Array, count: number): number {
  bytes[count++] = 0xe0 | (unit >> 12);
  bytes[count++] = 0x80 | ((unit >> 6) & 0x3f);
  bytes[count++] = 0x80 | (unit & 0x3f);
  return count;
}

/**
 * The bytes of the well-formed character at a place: 1 to 4, or 0 where there is none. After Unicode
 * 15, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
function characterLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at];
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > bytes.length) return 0;
  const second = bytes[at + 1];
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let i = 2; i < length; i++) {
    if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  }
  return length;
}
