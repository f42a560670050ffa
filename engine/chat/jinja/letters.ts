/**
 * Letters as Python's strings know them.
 *
 * @module
 */

const CASED = /\p{Cased}/u;

/** A character as it begins a word. */
function titled(character: string): string {
  const [first = "", ...rest] = character.toUpperCase();
  // A letter that becomes two, such as ß, has the second one small.
  return first + rest.join("").toLowerCase();
}

/** The first letter of every word large, the others small, as Python's `str.title`. */
export function titleCase(text: string): string {
  const lowered = [...text];
  let inWord = false;
  return lowered.map((character) => {
    const one = inWord ? character.toLowerCase() : titled(character);
    inWord = CASED.test(character);
    return one;
  }).join("");
}

/** The first character large, the others small, as Python's `str.capitalize`. */
export function capitalize(text: string): string {
  const [first = ""] = text;
  return titled(first) + text.slice(first.length).toLowerCase();
}

/** Large letters small and small ones large, as Python's `str.swapcase`. */
export function swapCase(text: string): string {
  return text.replace(/\p{L}/gu, (letter) => {
    const lower = letter.toLowerCase();
    return lower === letter ? letter.toUpperCase() : lower;
  });
}

/** A text for comparisons without regard to case, as Python's `str.casefold`. */
export function caseFold(text: string): string {
  return text.replace(/[ßẞ]/g, "ss").replace(/ς/g, "σ").toLowerCase().replace(/ς/g, "σ");
}

/** Texts with cased letters, all of one case. */
export const UPPER = /^(?=[^]*\p{Uppercase})[^\p{Ll}\p{Lt}]+$/u;
export const LOWER = /^(?=[^]*\p{Lowercase})[^\p{Lu}\p{Lt}]+$/u;

/** Whether each word starts with a large letter and goes on in small ones, as Python's `str.istitle`. */
export function isTitle(text: string): boolean {
  let inWord = false;
  let found = false;
  for (const character of text) {
    const isUpper = /[\p{Lu}\p{Lt}]/u.test(character);
    const isLower = /\p{Ll}/u.test(character);
    if (isUpper ? inWord : isLower && !inWord) return false;
    inWord = isUpper || isLower;
    found ||= inWord;
  }
  return found;
}
