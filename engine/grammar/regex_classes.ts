import type { CodePointRange } from "./grammar.ts";

/** What `.` does not match. */
export const LINE_ENDS: readonly CodePointRange[] = [[10, 10], [13, 13], [0x2028, 0x2029]];

const CLASSES: Readonly<Record<string, readonly CodePointRange[]>> = {
  d: [[0x30, 0x39]],
  w: [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]],
  // White space and line ends, as ECMAScript has them.
  s: [
    [9, 13],
    [0x20, 0x20],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};

/** `\d`, `\w`, `\s`, and in capitals all other characters; undefined for another letter. */
export function characterClass(
  letter: string,
): { ranges: readonly CodePointRange[]; negated: boolean } | undefined {
  const ranges = CLASSES[letter.toLowerCase()];
  if (ranges === undefined) return undefined;
  return { ranges, negated: letter !== letter.toLowerCase() };
}

/** Properties that are remembered. */
const MOST_KNOWN = 64;
const known = new Map<string, readonly CodePointRange[]>();

/** The characters with a property of Unicode, such as `Lu` or `Script=Greek`; undefined where there is none. */
export function propertyRanges(name: string): readonly CodePointRange[] | undefined {
  let ranges = known.get(name);
  if (ranges !== undefined) return ranges;
  let expression: RegExp;
  try {
    expression = new RegExp(`\\p{${name}}+`, "gu");
  } catch {
    return undefined;
  }
  ranges = [...allCharacters().matchAll(expression)].map((match): CodePointRange => {
    const text = match[0];
    const last = text.codePointAt(text.length - 2) ?? 0;
    return [text.codePointAt(0)!, last > 0xffff ? last : text.charCodeAt(text.length - 1)];
  });
  if (known.size < MOST_KNOWN) known.set(name, ranges);
  return ranges;
}

/** Every character in its order; half a million of them are more than are worth keeping. */
function allCharacters(): string {
  const parts: string[] = [];
  for (let first = 0; first <= 0x10ffff; first += 256) {
    if (first >= 0xd800 && first <= 0xdfff) continue;
    parts.push(String.fromCodePoint(...Array.from({ length: 256 }, (_, i) => first + i)));
  }
  return parts.join("");
}
