import { type Arguments, isList, isString, type Value } from "./library.ts";
import { isSpace } from "./marks.ts";
import type { Rendering } from "./rendering.ts";

/** The first letter of every word large, the others small, as Python's `str.title`. */
export function titleCase(text: string): string {
  return text.replace(
    /(\p{L})([\p{L}\p{M}]*)/gu,
    (_, first, rest) => first.toUpperCase() + rest.toLowerCase(),
  );
}

/** The first character large, the others small, as Python's `str.capitalize`. */
export function capitalize(text: string): string {
  const [first = ""] = text;
  return first.toUpperCase() + text.slice(first.length).toLowerCase();
}

/** The text with its places of another one replaced, at most `most` of them (-1: all). */
export function replaceText(
  rendering: Rendering,
  text: string,
  wanted: string,
  by: string,
  most = -1,
): string {
  const { marks, budget } = rendering;
  if (marks.plain(wanted) === "") return insertBetween(rendering, text, by, most);
  const pieces: string[] = [];
  let from = 0;
  let length = text.length;
  for (const [start, end] of marks.find(text, wanted)) {
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
  const characters = rendering.marks.characters(text);
  const count = most < 0 ? characters.length + 1 : Math.min(most, characters.length + 1);
  rendering.budget.list(characters.length);
  rendering.budget.allow(text.length + by.length * count);
  const parts = characters.map((character, i) => i < count ? by + character : character);
  return parts.join("") + (count > characters.length ? by : "");
}

/**
 * The parts of a text between the places of a separator, at most `most` splits (-1: all), from the left or
 * from the right.
 */
export function splitText(
  rendering: Rendering,
  text: string,
  separator: string,
  most: number,
  fromRight = false,
): string[] {
  if (rendering.marks.plain(separator) === "") throw new Error("an empty text separates nothing");
  let places: [number, number][] = [];
  for (const place of rendering.marks.find(text, separator)) {
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
export function joinTexts(rendering: Rendering, texts: readonly string[], by: string): Value {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  rendering.budget.allow(length + by.length * Math.max(0, texts.length - 1));
  return rendering.string(texts.join(by));
}

/** The texts that may be meant where a method takes one or a tuple of several. */
export function textsOf(args: Arguments, name: string): string[] {
  const [value] = args.positional;
  const values = isList(value) ? value.value : [value];
  return values.map((one) => {
    if (isString(one)) return one.value;
    throw new Error(`${name} wants a string or a tuple of strings`);
  });
}
