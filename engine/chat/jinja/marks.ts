/**
 * Texts with marks in them. What a request brings is marked, so that no control token can be made out
 * of it (see `docs/chat.md`); a template must not notice. The functions here see texts as if the marks
 * were not there, and leave the marks in what they give.
 *
 * @module
 */

import type { Budget } from "./budget.ts";
import { firstPlace } from "./text_search.ts";

/** White space as Python's `str.strip` and `str.split` have it. */
const SPACES = new Set(
  "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008" +
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000",
);

/** Whether Python takes a character as white space. */
export function isSpace(character: string): boolean {
  return SPACES.has(character);
}

/** Texts with one character as the mark; an empty one for none. */
export class Marks {
  constructor(readonly mark: string) {}

  has(text: string): boolean {
    return this.mark !== "" && text.includes(this.mark);
  }

  plain(text: string): string {
    return this.has(text) ? text.replaceAll(this.mark, "") : text;
  }

  /** A text; one of marks alone is empty, because it has to be false. */
  tidy(text: string): string {
    if (this.mark === "" || !text.startsWith(this.mark)) return text;
    for (let i = 1; i < text.length; i++) if (text[i] !== this.mark) return text;
    return "";
  }

  /** Characters (code points) of a text. */
  length(text: string): number {
    const plain = this.plain(text);
    let length = plain.length;
    for (let i = 0; i < plain.length; i++) {
      if (isHighSurrogate(plain, i)) {
        length--;
        i++;
      }
    }
    return length;
  }

  /** A text's characters, each with the marks behind it; marks at its start go with the first one. */
  characters(text: string): string[] {
    const found: string[] = [];
    for (let at = 0; at < text.length;) {
      let end = at;
      while (text[end] === this.mark && end + 1 < text.length) end++;
      end += isHighSurrogate(text, end) ? 2 : 1;
      while (end < text.length && text[end] === this.mark) end++;
      found.push(text.slice(at, end));
      at = end;
    }
    return found;
  }

  /** The characters from `start` up to `end` with the marks behind them; both from 0 on. */
  slice(text: string, start: number, end: number): string {
    if (end <= start) return "";
    const bounds: number[] = [];
    let count = 0;
    for (let at = 0; at < text.length && bounds.length < 2;) {
      if (text[at] === this.mark) {
        at++;
        continue;
      }
      if (bounds.length === 0 && count === start) bounds.push(at);
      if (count === end) bounds.push(at);
      count++;
      at += isHighSurrogate(text, at) ? 2 : 1;
    }
    const [from = text.length, to = text.length] = bounds;
    const part = text.slice(from, to);
    // What stood in front of it may be a part of a control token's text with it.
    return this.has(text) && part !== "" ? this.mark + part : part;
  }

  /** The positions of a text in another one, from the left, none overlapping: [start, end). */
  *find(
    text: string,
    wanted: string,
    budget?: Budget,
  ): Generator<[start: number, end: number]> {
    const plainWanted = this.plain(wanted);
    if (plainWanted === "") return;
    if (!this.has(text)) {
      for (
        let at = 0;
        (at = firstPlace(budget, text, plainWanted, at)) >= 0;
        at += plainWanted.length
      ) {
        yield [at, at + plainWanted.length];
      }
      return;
    }
    const first = plainWanted[0];
    for (let start = text.indexOf(first); start >= 0;) {
      const end = this.endOf(text, start, plainWanted);
      if (end > 0) yield [start, end];
      start = text.indexOf(first, Math.max(end, start + 1));
    }
  }

  /** Where a text ends that stands at a place, marks between its characters left out; 0 where it stands not there. */
  private endOf(text: string, start: number, wanted: string): number {
    const mark = this.mark.charCodeAt(0);
    let at = start + 1;
    for (let i = 1; i < wanted.length; i++) {
      const code = wanted.charCodeAt(i);
      // No mark stands between the halves of a character.
      if ((code & 0xfc00) !== 0xdc00) { while (text.charCodeAt(at) === mark) at++; }
      if (text.charCodeAt(at++) !== code) return 0;
    }
    return at;
  }

  /**
   * The text without characters of a set at its ends; where marks stood between those, one is left.
   *
   * @param isStripped Which characters go; default: white space.
   */
  strip(
    text: string,
    ends: "both" | "start" | "end",
    isStripped: (character: string) => boolean = isSpace,
  ): string {
    let start = 0;
    let end = text.length;
    const goes = (from: number, to: number) =>
      text[from] === this.mark || isStripped(text.slice(from, to));
    while (ends !== "end" && start < end) {
      const next = start + unitsAt(text, start);
      if (!goes(start, next)) break;
      start = next;
    }
    while (ends !== "start" && end > start) {
      const last = end - unitsBefore(text, end);
      if (!goes(last, end)) break;
      end = last;
    }
    if (start === end) return "";
    const before = this.has(text.slice(0, start)) ? this.mark : "";
    const behind = this.has(text.slice(end)) ? this.mark : "";
    return before + text.slice(start, end) + behind;
  }

  /**
   * A text that was made out of another one, character by character: what it is now might be a control
   * token, so that all of it is marked.
   */
  remark(text: string): string {
    return this.has(text) ? this.protect(text) : text;
  }

  /** The text with a mark at its start and behind each character. */
  protect(text: string): string {
    return this.mark + text.replace(/./gsu, (character) => character + this.mark);
  }
}

/** Code units of the character that begins at a place. */
function unitsAt(text: string, at: number): number {
  return isHighSurrogate(text, at) ? 2 : 1;
}

/** Those of the character that ends there. */
function unitsBefore(text: string, at: number): number {
  const isLow = (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00;
  return isLow && at > 1 && isHighSurrogate(text, at - 2) ? 2 : 1;
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code < 0xdc00 && at + 1 < text.length;
}
