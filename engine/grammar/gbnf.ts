import type { M40Error } from "../errors.ts";
import { invalidGrammar } from "./errors.ts";
import { ANY_CHARACTER, choiceOf, isCharacter, sequenceOf } from "./expressions.ts";
import type { CodePointRange, Expression, Grammar } from "./grammar.ts";
import { type Counts, countsOf, takeSign } from "./repetition.ts";
import { TextCursor } from "./text_cursor.ts";

/** Characters of a grammar's text at most. */
const MOST_TEXT = 2 ** 20;
/** Parentheses within parentheses at most. */
const MOST_PARENTHESES = 80;

const NAME = /[A-Za-z0-9_-]+/y;
const REPETITION = /\{[ \t]*(\d+)[ \t]*(?:(,)[ \t]*(?:(\d+)[ \t]*)?)?\}/y;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
/** Digits of the code point behind each of these escapes. */
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

/**
 * A grammar in GBNF, as llama.cpp documents it: rules `name ::= …` of texts, classes of characters, `.`, names,
 * parentheses, `|`, `*`, `+`, `?` and `{m,n}`. A text begins with the rule `root`.
 *
 * @throws {M40Error} "invalid_request" with line and column.
 */
export function parseGbnf(text: string, param = "grammar"): Grammar {
  return new GbnfParser(text, param).parse();
}

class GbnfParser {
  private readonly cursor: TextCursor;
  private readonly rules = new Map<string, Expression>();
  private parentheses = 0;

  constructor(text: string, private readonly param: string) {
    if (text.length > MOST_TEXT) {
      throw invalidGrammar(
        `${param} has ${text.length} characters; wanted at most ${MOST_TEXT}`,
        param,
      );
    }
    this.cursor = new TextCursor(text);
  }

  parse(): Grammar {
    this.skipSpace(true);
    while (!this.cursor.isAtEnd) this.parseRule();
    if (!this.rules.has("root")) {
      throw invalidGrammar(
        `${this.param} has no rule root, with which the text begins. Add a line root ::= …`,
        this.param,
      );
    }
    return { root: "root", rules: this.rules };
  }

  private parseRule(): void {
    const { cursor } = this;
    const at = cursor.at;
    const name = this.parseName("the name of a rule");
    this.skipSpace(false);
    if (!cursor.takeIf("::=")) throw this.wanted(`::= after the name ${name}`);
    this.skipSpace(true);
    if (this.rules.has(name)) throw this.error(`the rule ${name} is there twice`, at);
    this.rules.set(name, this.parseAlternatives());
    if (!cursor.isAtEnd && !/[\r\n]/.test(cursor.next)) {
      throw this.wanted("a new line after a rule");
    }
    this.skipSpace(true);
  }

  private parseName(what: string): string {
    const found = this.cursor.match(NAME);
    if (found === undefined) throw this.wanted(what);
    return found[0];
  }

  private parseAlternatives(): Expression {
    const { cursor } = this;
    const options = [this.parseSequence()];
    for (;;) {
      const at = cursor.at;
      // The next line of a rule may begin with its next alternative.
      this.skipSpace(true);
      if (!cursor.takeIf("|")) {
        if (this.parentheses === 0) cursor.at = at;
        return choiceOf(options);
      }
      this.skipSpace(true);
      options.push(this.parseSequence());
    }
  }

  private parseSequence(): Expression {
    const items: Expression[] = [];
    for (;;) {
      const item = this.parseItem();
      if (item === undefined) return sequenceOf(items);
      this.skipSpace(this.parentheses > 0);
      items.push(this.parseRepetitions(item));
    }
  }

  private parseItem(): Expression | undefined {
    const { cursor } = this;
    switch (cursor.next) {
      case '"':
        return this.parseText();
      case "[":
        return this.parseClass();
      case "(":
        return this.parseGroup();
      case ".":
        cursor.take();
        return ANY_CHARACTER;
      case "<":
      case "!":
        throw this.error(
          "tokens in a grammar (<name>, <[id]>) are not supported. Write the text that they stand for",
        );
    }
    const name = cursor.match(NAME)?.[0];
    return name === undefined ? undefined : { kind: "rule", name };
  }

  private parseGroup(): Expression {
    const { cursor } = this;
    if (++this.parentheses > MOST_PARENTHESES) {
      throw this.error(`parentheses are nested deeper than ${MOST_PARENTHESES}`);
    }
    cursor.take();
    this.skipSpace(true);
    const inside = this.parseAlternatives();
    if (!cursor.takeIf(")")) throw this.wanted(") at the end of a group");
    this.parentheses--;
    return inside;
  }

  private parseText(): Expression {
    const { cursor } = this;
    cursor.take();
    let text = "";
    while (!cursor.takeIf('"')) {
      if (cursor.isAtEnd || cursor.next === "\n") throw this.wanted('" at the end of a text');
      text += this.parseCharacter();
    }
    return { kind: "literal", text };
  }

  private parseClass(): Expression {
    const { cursor } = this;
    cursor.take();
    const negated = cursor.takeIf("^");
    const ranges: CodePointRange[] = [];
    while (!cursor.takeIf("]")) {
      if (cursor.isAtEnd || cursor.next === "\n") throw this.wanted("] at the end of a class");
      const at = cursor.at;
      const first = this.parseCharacter().codePointAt(0)!;
      const isRange = cursor.next === "-" && cursor.text[cursor.at + 1] !== "]";
      if (isRange) cursor.take();
      const last = isRange ? this.parseCharacter().codePointAt(0)! : first;
      if (last < first) throw this.error("a range of characters ends before it begins", at);
      ranges.push([first, last]);
    }
    return { kind: "characters", ranges, negated };
  }

  /** A character of a text or a class, which may be escaped. */
  private parseCharacter(): string {
    const { cursor } = this;
    const at = cursor.at;
    const character = cursor.take();
    if (character !== "\\") {
      if (character === "" || !isCharacter(character.codePointAt(0)!)) {
        throw this.error("got half of a character; wanted a character", at);
      }
      return character;
    }
    const escaped = cursor.take();
    const digits = HEX_DIGITS[escaped];
    if (digits !== undefined) {
      const found = cursor.match(new RegExp(`[0-9A-Fa-f]{${digits}}`, "y"));
      const code = parseInt(found?.[0] ?? "", 16);
      if (!isCharacter(code)) {
        throw this.error(`\\${escaped} wants ${digits} hexadecimal digits of a character`, at);
      }
      return String.fromCodePoint(code);
    }
    if (ESCAPES[escaped] !== undefined) return ESCAPES[escaped];
    if (/^[!-/:-@[-`{-~]$/.test(escaped)) return escaped;
    throw this.error(`there is no escape \\${escaped}`, at);
  }

  private parseRepetitions(item: Expression): Expression {
    const { cursor } = this;
    let repeated = item;
    for (let nested = 0;; nested++) {
      const at = cursor.at;
      const counts = this.parseCounts();
      if (counts === undefined) return repeated;
      if (nested === MOST_PARENTHESES) throw this.error("too many repetitions of repetitions", at);
      repeated = { kind: "repeat", item: repeated, ...counts };
      this.skipSpace(this.parentheses > 0);
    }
  }

  private parseCounts(): Counts | undefined {
    const { cursor } = this;
    const sign = takeSign(cursor);
    if (sign !== undefined) return sign;
    if (cursor.next !== "{") return undefined;
    const at = cursor.at;
    const found = cursor.match(REPETITION);
    if (found === undefined) throw this.error("wanted a repetition {m}, {m,} or {m,n}");
    return countsOf(found, (message) => this.error(message, at));
  }

  /** Skips spaces and comments, and new lines if those do not end anything. */
  private skipSpace(newLines: boolean): void {
    this.cursor.match(newLines ? SPACE_AND_LINES : SPACE);
  }

  private wanted(what: string): M40Error {
    return this.error(`got ${this.cursor.describe()}; wanted ${what}`);
  }

  private error(message: string, at = this.cursor.at): M40Error {
    const { line, column } = this.cursor.position(at);
    return invalidGrammar(`${this.param}, line ${line}, column ${column}: ${message}`, this.param);
  }
}

const SPACE = /[ \t]*(?:#[^\r\n]*)?/y;
const SPACE_AND_LINES = /[ \t\r\n]*(?:#[^\r\n]*(?:[\r\n][ \t\r\n]*|$))*/y;
