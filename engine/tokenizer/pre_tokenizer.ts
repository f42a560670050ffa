import { compileExpression } from "./expression.ts";
import type { Cut } from "./pre_tokenizers.ts";

/**
 * The longest word that an expression may find, in code units, before it runs out of memory. V8 keeps a backtracking
 * state for every character outside ASCII, and ends at some millions of them. No text of anybody has such a word; one
 * of an attacker is cut.
 */
const LONGEST_MATCH = 1 << 20;

/** Cuts text into words, which are turned into tokens one by one. */
export class PreTokenizer {
  readonly #cuts: readonly ((text: string, visit: (word: string) => void) => void)[];

  constructor(cuts: readonly Cut[]) {
    this.#cuts = cuts.map(cutter);
  }

  /** Calls `visit` with every word of a text, none of them empty; together they are the text. */
  forEach(text: string, visit: (word: string) => void): void {
    if (text !== "") this.#cut(text, 0, visit);
  }

  #cut(text: string, step: number, visit: (word: string) => void): void {
    const cut = this.#cuts[step];
    const next = step + 1;
    if (cut === undefined) visit(text);
    else if (next === this.#cuts.length) cut(text, visit);
    else cut(text, (part) => this.#cut(part, next, visit));
  }
}

function cutter(cut: Cut): (text: string, visit: (word: string) => void) => void {
  if (typeof cut === "string") {
    const expression = compileExpression(cut);
    return (text, visit) => visitMatches(expression, text, visit);
  }
  if ("ends" in cut) {
    return (text, visit) => {
      let start = 0;
      for (const end of cut.ends(text)) visit(text.substring(start, start = end));
    };
  }
  const expression = compileExpression(cut.matches);
  return (text, visit) => visitParts(expression, text, visit);
}

/** For an expression that leaves nothing out: `test` makes no array for every word, unlike `exec`. */
function visitMatches(expression: RegExp, text: string, visit: (word: string) => void): void {
  let start = 0;
  while (start < text.length) {
    expression.lastIndex = start;
    let end: number;
    try {
      end = expression.test(text) ? expression.lastIndex : text.length;
    } catch (error) {
      end = start + longestMatch(expression, text, start, error)[1];
    }
    visit(text.substring(start, end));
    start = end;
  }
}

/** For an expression whose matches have text between them. */
function visitParts(expression: RegExp, text: string, visit: (word: string) => void): void {
  let start = 0;
  while (start < text.length) {
    expression.lastIndex = start;
    let from: number;
    let to: number;
    try {
      const match = expression.exec(text);
      from = match === null ? text.length : match.index;
      to = match === null ? from : from + match[0].length;
    } catch (error) {
      const [index, end] = longestMatch(expression, text, start, error);
      from = start + index;
      to = start + end;
    }
    if (from > start) visit(text.substring(start, from));
    if (to > from) visit(text.substring(from, to));
    start = to;
  }
}

/** Where the next match begins and ends within a window, where the whole text was too much for V8. */
function longestMatch(
  expression: RegExp,
  text: string,
  start: number,
  error: unknown,
): [from: number, to: number] {
  if (!(error instanceof RangeError)) throw error;
  let window = text.substring(start, start + LONGEST_MATCH);
  // A pair of surrogates is not torn apart.
  if (!window.isWellFormed() && window.length > 1) window = window.slice(0, -1);
  expression.lastIndex = 0;
  const match = expression.exec(window);
  return match === null
    ? [window.length, window.length]
    : [match.index, match.index + match[0].length];
}
