/**
 * Cuts whose expressions look ahead to the end of a run from each of its characters, which takes quadratic time; these
 * give the same in one pass. Digits are cut into groups of three, counted from the right as in 1,234,567.
 *
 * @module
 */

const SPACE = /\p{White_Space}/u;
const DIGITS = /\p{Nd}+/gu;
const NUMBERS = /\p{N}+/gu;
/**
 * What continues a word: between a digit and one of these is no boundary of words. Oniguruma, which the
 * models' expressions were written for, counts the superscripts and fractions of Latin 1 as well.
 */
const WORD_CHARACTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u00b2\u00b3\u00b9\u00bc-\u00be]/uy;

/**
 * The cuts of `\d{1,3}(?=(?:\d{3})*\b)`: digits that end a word are groups of three, the first of which
 * may be shorter. Other text stays whole.
 */
export function groupsFromTheRight(text: string): number[] {
  return runsOf(DIGITS, text, (digits, start) => {
    WORD_CHARACTER.lastIndex = start + digits.length;
    return WORD_CHARACTER.test(text) ? [] : [0, ...groupOffsets(digits)];
  });
}

/**
 * Runs of numbers, of whatever script and kind, in groups of three, the first of which may be shorter. Other text
 * stays whole.
 */
export function numberGroups(text: string): number[] {
  return runsOf(NUMBERS, text, (numbers) => [0, ...groupOffsets(numbers)]);
}

/** The cuts of `(?=(\d{3})+(?!\d))`, whose matches are empty: in front of every group of three. */
export function groupsOfThree(text: string): number[] {
  return runsOf(DIGITS, text, (digits) => groupOffsets(digits).slice(0, -1));
}

/** The cut of `\s+$`: in front of the white space that a text ends with. */
export function spaceAtTheEnd(text: string): number[] {
  let end = text.length;
  while (end > 0 && SPACE.test(text[end - 1])) end--;
  return endsOf([end, text.length]);
}

/** Cuts a text at offsets in the runs that an expression finds. */
function runsOf(
  expression: RegExp,
  text: string,
  offsets: (run: string, start: number) => readonly number[],
): number[] {
  const ends: number[] = [];
  for (const { 0: run, index: start } of text.matchAll(expression)) {
    for (const offset of offsets(run, start)) ends.push(start + offset);
  }
  return endsOf([...ends, text.length]);
}

/** The offsets in a run of digits from which a multiple of three of them are left; the last is its end. */
function groupOffsets(digits: string): number[] {
  const places: number[] = [];
  // A digit beyond U+FFFF is two code units.
  for (let at = 0; at < digits.length; at += digits.codePointAt(at)! > 0xffff ? 2 : 1) {
    places.push(at);
  }
  places.push(digits.length);
  return places.filter((_, index) => (places.length - 1 - index) % 3 === 0);
}

/** Ends of words out of ascending places: each once, none of an empty word. */
function endsOf(places: readonly number[]): number[] {
  return places.filter((place, i) => place > (places[i - 1] ?? 0));
}
