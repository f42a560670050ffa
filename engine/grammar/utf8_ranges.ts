import type { CodePointRange } from "./grammar.ts";

/** Bytes from the first to the last, both included. */
export type ByteRange = readonly [first: number, last: number];

/** The largest code point of each length in UTF-8. */
const LAST_OF_LENGTH = [0x7f, 0x7ff, 0xffff, 0x10ffff] as const;
const SURROGATES: CodePointRange = [0xd800, 0xdfff];
const LAST = 0x10ffff;

/** Ranges in order, without overlaps, without surrogates; negated, those of all other characters. */
export function normalizeRanges(
  ranges: readonly CodePointRange[],
  negated = false,
): CodePointRange[] {
  const merged: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((a, b) => a[0] - b[0])) {
    const before = merged.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else if (first <= last) merged.push([first, last]);
  }
  return (negated ? complement(merged) : merged).flatMap(withoutSurrogates);
}

/** Whether any character is in one of these ranges; negated, in none. Surrogates are no characters. */
export function hasCharacter(ranges: readonly CodePointRange[], negated = false): boolean {
  return normalizeRanges(ranges, negated).length > 0;
}

function complement(ranges: readonly CodePointRange[]): CodePointRange[] {
  const others: CodePointRange[] = [];
  let next = 0;
  for (const [first, last] of ranges) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return others;
}

function withoutSurrogates([first, last]: CodePointRange): CodePointRange[] {
  const parts: CodePointRange[] = [
    [first, Math.min(last, SURROGATES[0] - 1)],
    [Math.max(first, SURROGATES[1] + 1), last],
  ];
  return parts.filter(([from, to]) => from <= to);
}

/**
 * A range of code points in UTF-8: sequences of ranges of bytes, in order. Any byte of each range may follow
 * any of the one before it.
 */
export function utf8Sequences([first, last]: CodePointRange): ByteRange[][] {
  const sequences: ByteRange[][] = [];
  let from = first;
  for (const [i, most] of LAST_OF_LENGTH.entries()) {
    if (from > most || from > last) continue;
    split(from, Math.min(last, most), i + 1, sequences);
    from = most + 1;
  }
  return sequences;
}

/** The same of code points whose UTF-8 has one length. */
function split(first: number, last: number, length: number, sequences: ByteRange[][]): void {
  // Where the two differ in a byte before the last, those after it must run from 0x80 to 0xBF.
  for (let bits = 6 * (length - 1); bits > 0; bits -= 6) {
    const low = (1 << bits) - 1;
    if (first >> bits === last >> bits) continue;
    if ((first & low) !== 0) {
      split(first, first | low, length, sequences);
      split((first | low) + 1, last, length, sequences);
      return;
    }
    if ((last & low) !== low) {
      split(first, (last & ~low) - 1, length, sequences);
      split(last & ~low, last, length, sequences);
      return;
    }
  }
  const ends = encoder.encode(String.fromCodePoint(last));
  sequences.push(
    Array.from(encoder.encode(String.fromCodePoint(first)), (byte, i) => [byte, ends[i]]),
  );
}

const encoder = new TextEncoder();
