import { typeError, valueError } from "./errors.ts";
import { isSpace } from "./marks.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { isString, textOf, Tuple, typeName, type Value } from "./values.ts";

/** The text with occurrences of another one replaced, at most `most` of them (-1: all). */
export function replaceText(
  rendering: Rendering,
  text: string,
  wanted: string,
  by: string,
  most = -1,
): string {
  const { marks, budget } = rendering;
  if (marks.plain(wanted) === "") return insertBetween(rendering, text, by, most);
  budget.search(text, wanted);
  const pieces: string[] = [];
  let from = 0;
  let length = text.length;
  for (const [start, end] of marks.find(text, wanted, budget)) {
    if (most >= 0 && pieces.length >= most) break;
    budget.step();
    length += by.length - (end - start);
    budget.grow(length, by.length);
    pieces.push(text.slice(from, start));
    from = end;
  }
  return pieces.length === 0 ? text : [...pieces, text.slice(from)].join(by);
}

/** Python puts the other text before every character and at the end, where an empty one is replaced. */
function insertBetween(rendering: Rendering, text: string, by: string, most: number): string {
  rendering.budget.scan(ELEMENT * text.length);
  const characters = rendering.marks.characters(text);
  const count = most < 0 ? characters.length + 1 : Math.min(most, characters.length + 1);
  rendering.budget.list(characters.length);
  rendering.budget.allow(text.length + by.length * count);
  const parts = characters.map((character, i) => i < count ? by + character : character);
  return parts.join("") + (count > characters.length ? by : "");
}

/**
 * The parts of a text between occurrences of a separator, at most `most` splits (-1: all), from the left or
 * from the right.
 */
export function splitText(
  rendering: Rendering,
  text: string,
  separator: string,
  most: number,
  fromRight = false,
): string[] {
  if (rendering.marks.plain(separator) === "") throw valueError("an empty text separates nothing");
  rendering.budget.search(text, separator);
  let places: [number, number][] = [];
  for (const place of rendering.marks.find(text, separator, rendering.budget)) {
    rendering.budget.step();
    places.push(place);
    if (!fromRight && most >= 0 && places.length > most) break;
  }
  if (most >= 0) {
    places = fromRight ? places.slice(Math.max(0, places.length - most)) : places.slice(0, most);
  }
  rendering.budget.list(places.length + 1);
  const starts = [0, ...places.map(([, end]) => end)];
  return starts.map((start, i) => text.slice(start, places[i]?.[0] ?? text.length));
}

/** The words of a text, at most `most` splits (-1: all), from the left or from the right. */
export function splitWords(
  rendering: Rendering,
  text: string,
  most: number,
  fromRight = false,
): string[] {
  const { marks, budget } = rendering;
  const words: string[] = [];
  const strip = (text: string) => marks.strip(text, fromRight ? "end" : "start");
  let rest = strip(text);
  while (rest !== "" && (most < 0 || words.length < most)) {
    budget.step();
    budget.scan(rest.length);
    let at = fromRight ? rest.length : 0;
    if (fromRight) { while (at > 0 && !isSpace(rest[at - 1])) at--; }
    else while (at < rest.length && !isSpace(rest[at])) at++;
    words.push(fromRight ? rest.slice(at) : rest.slice(0, at));
    rest = strip(fromRight ? rest.slice(0, at) : rest.slice(at));
  }
  if (rest !== "") words.push(rest);
  budget.list(words.length);
  return fromRight ? words.reverse() : words;
}

/** Texts with one between each two of them. */
export function joinTexts(rendering: Rendering, texts: readonly string[], by: string): string {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  rendering.budget.allow(length + by.length * Math.max(0, texts.length - 1));
  return rendering.string(texts.join(by));
}

/** The texts that may be meant where a method takes one or a tuple of several. */
export function textsOf(value: Value, name: string): string[] {
  const values = value instanceof Tuple ? value.items : [value];
  return values.map((one) => {
    if (isString(one)) return textOf(one);
    throw typeError(`${name} wants a string or a tuple of strings, got ${typeName(one)}`);
  });
}

/** Where Python ends a line. */
// deno-lint-ignore no-control-regex
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** The lines of a text, with their ends if wanted. */
export function splitLines(rendering: Rendering, text: string, keepEnds: boolean): string[] {
  const lines: string[] = [];
  let from = 0;
  for (const { 0: end, index } of text.matchAll(LINE_END)) {
    rendering.budget.step();
    lines.push(text.slice(from, keepEnds ? index + end.length : index));
    from = index + end.length;
  }
  // Marks alone are no line.
  if (rendering.marks.tidy(text.slice(from)) !== "") lines.push(text.slice(from));
  rendering.budget.list(lines.length);
  return lines;
}
