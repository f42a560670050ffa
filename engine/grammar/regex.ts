import type { M40Error } from "../errors.ts";
import { invalidGrammar } from "./errors.ts";
import { ANY_CHARACTER, choiceOf, isCharacter, sequenceOf, single } from "./expressions.ts";
import type { CodePointRange, Expression } from "./grammar.ts";
import { characterClass, LINE_ENDS, propertyRanges } from "./regex_classes.ts";
import { type Counts, countsOf, takeSign } from "./repetition.ts";
import { TextCursor } from "./text_cursor.ts";
import { normalizeRanges } from "./utf8_ranges.ts";

/** Characters of an expression at most. */
const MOST_TEXT = 2 ** 18;
/** Groups within groups at most. */
const MOST_GROUPS = 80;
/** Unicode properties that one expression may name: each takes some time to find out. */
const MOST_PROPERTIES = 8;

/** How an expression is read. */
export interface RegexOptions {
  /** The name of the parameter that it came in; default "regex". */
  readonly param?: string;
  /** Whether it may match anywhere in the text, but where it has anchors. Default: the text as a whole. */
  readonly search?: boolean;
}

/**
 * A regular expression as ECMAScript and PCRE write it, as far as it is regular: classes, groups, alternatives,
 * quantifiers, and anchors at the ends. It means all of a text.
 *
 * @throws {M40Error} "invalid_request" naming what it has that cannot be, and where.
 */
export function parseRegex(pattern: string, options: RegexOptions = {}): Expression {
  return new RegexParser(pattern, options).parse();
}

/** What stands between two bars. */
interface Alternative {
  readonly expression: Expression;
  readonly fromStart: boolean;
  readonly toEnd: boolean;
}

const QUANTIFIER = /\{(\d+)(?:(,)(\d+)?)?\}/y;
const ESCAPES: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
/** What is not regular, or not done, by how it begins. */
const UNSUPPORTED: readonly (readonly [string, string])[] = [
  ["(?=", "lookahead (?=…)"],
  ["(?!", "negative lookahead (?!…)"],
  ["(?<=", "lookbehind (?<=…)"],
  ["(?<!", "negative lookbehind (?<!…)"],
  ["(?>", "an atomic group (?>…)"],
  ["(?#", "a comment (?#…)"],
  ["(?(", "a conditional (?(…)"],
  ["(?P=", "a backreference (?P=…)"],
  ["(?R", "recursion (?R)"],
  ["(?", "a group with options (?…)"],
  ["(*", "a verb (*…)"],
];

class RegexParser {
  private readonly cursor: TextCursor;
  private readonly param: string;
  private readonly search: boolean;
  private groups = 0;
  private properties = 0;

  constructor(pattern: string, { param = "regex", search = false }: RegexOptions) {
    this.cursor = new TextCursor(pattern);
    this.param = param;
    this.search = search;
    if (pattern.length > MOST_TEXT) {
      throw this.error(`got ${pattern.length} characters; wanted at most ${MOST_TEXT}`, 0);
    }
  }

  parse(): Expression {
    const alternatives = this.parseAlternatives();
    if (!this.cursor.isAtEnd) {
      throw this.error("got ) without a ( before it. Write \\) for the character");
    }
    return choiceOf(alternatives.map((one) => this.anywhere(one)));
  }

  private anywhere({ expression, fromStart, toEnd }: Alternative): Expression {
    if (!this.search) return expression;
    const before = fromStart ? [] : [ANYTHING];
    return sequenceOf([...before, expression, ...(toEnd ? [] : [ANYTHING])]);
  }

  private parseAlternatives(): Alternative[] {
    const alternatives = [this.parseAlternative()];
    while (this.cursor.takeIf("|")) alternatives.push(this.parseAlternative());
    return alternatives;
  }

  private parseAlternative(): Alternative {
    const { cursor } = this;
    const items: Expression[] = [];
    const start = cursor.at;
    let fromStart = false;
    let toEnd = false;
    while (!cursor.isAtEnd && cursor.next !== "|" && cursor.next !== ")") {
      if (cursor.next === "^" || cursor.next === "$") {
        this.checkAnchor(start);
        if (cursor.take() === "^") fromStart = true;
        else toEnd = true;
      } else {
        items.push(this.parseQuantifier(this.parseAtom()));
      }
    }
    return { expression: sequenceOf(items), fromStart, toEnd };
  }

  /** An anchor may stand at the end of the whole expression, or of one of its alternatives. */
  private checkAnchor(start: number): void {
    const { text, at, next } = this.cursor;
    const after = text[at + 1];
    const fits = this.groups === 0 &&
      (next === "^" ? at === start : after === undefined || after === "|");
    if (!fits) {
      throw this.error(`got the anchor ${next} in the middle; it is supported at the ends only`);
    }
  }

  private parseAtom(): Expression {
    const { cursor } = this;
    switch (cursor.next) {
      case "(":
        return this.parseGroup();
      case "[":
        return this.parseClass();
      case ".":
        cursor.take();
        return { kind: "characters", ranges: LINE_ENDS, negated: true };
      case "\\":
        return this.parseEscape();
      case "*":
      case "+":
      case "?":
        throw this.error(`got ${cursor.next} with nothing before it that it could repeat`);
    }
    const at = cursor.at;
    if (cursor.match(QUANTIFIER) !== undefined) {
      throw this.error("got a repetition {…} with nothing before it that it could repeat", at);
    }
    return { kind: "literal", text: this.takeCharacter() };
  }

  private parseGroup(): Expression {
    const { cursor } = this;
    const at = cursor.at;
    const plain = cursor.takeIf("(?:") || cursor.match(/\(\?P?<[A-Za-z_]\w*>/y) !== undefined;
    if (!plain) {
      const unsupported = UNSUPPORTED.find(([begin]) => cursor.text.startsWith(begin, at));
      if (unsupported !== undefined) throw this.error(`${unsupported[1]} is not supported`);
      cursor.take();
    }
    if (++this.groups > MOST_GROUPS) {
      throw this.error(`groups are nested deeper than ${MOST_GROUPS}`);
    }
    const inside = choiceOf(this.parseAlternatives().map(({ expression }) => expression));
    if (!cursor.takeIf(")")) throw this.error("got no ) for this (", at);
    this.groups--;
    return inside;
  }

  private parseQuantifier(item: Expression): Expression {
    const { cursor } = this;
    const counts = this.parseCounts();
    if (counts === undefined) return item;
    if (cursor.next === "+") throw this.error("a possessive quantifier is not supported");
    // A lazy one matches the same texts.
    cursor.takeIf("?");
    if (/^[*+?]$/.test(cursor.next)) throw this.error("got two quantifiers for one thing");
    return { kind: "repeat", item, ...counts };
  }

  private parseCounts(): Counts | undefined {
    const { cursor } = this;
    const sign = takeSign(cursor);
    if (sign !== undefined) return sign;
    const at = cursor.at;
    if (/\{,\d+\}/y.exec(cursor.text.slice(at, at + 16))) {
      throw this.error("{,n} means different things in different dialects. Write {0,n}");
    }
    const found = cursor.match(QUANTIFIER);
    if (found === undefined) return undefined;
    return countsOf(found, (message) => this.error(message, at));
  }

  private parseClass(): Expression {
    const { cursor } = this;
    const at = cursor.at;
    cursor.take();
    const negated = cursor.takeIf("^");
    const ranges: CodePointRange[] = [];
    while (!cursor.takeIf("]")) {
      if (cursor.isAtEnd) throw this.error("got no ] for this [", at);
      if (cursor.match(/\[[:.=]/y)) throw this.error("a POSIX class [:…:] is not supported");
      const place = cursor.at;
      const first = this.parseClassAtom();
      if (!this.isRange()) {
        ranges.push(...(typeof first === "number" ? [single(first)] : first));
        continue;
      }
      cursor.take();
      const last = this.parseClassAtom();
      if (typeof first !== "number" || typeof last !== "number" || last < first) {
        throw this.error("a range of characters wants two characters in their order", place);
      }
      ranges.push([first, last]);
    }
    return { kind: "characters", ranges, negated };
  }

  private isRange(): boolean {
    const { text, at } = this.cursor;
    return text[at] === "-" && text[at + 1] !== "]" && text[at + 1] !== undefined;
  }

  /** A character of a class, or a class in a class. */
  private parseClassAtom(): number | readonly CodePointRange[] {
    const { cursor } = this;
    if (cursor.next !== "\\") return this.takeCharacter().codePointAt(0)!;
    if (cursor.takeIf("\\b")) return 8;
    if (cursor.takeIf("\\-")) return 0x2d;
    const escaped = this.parseEscape();
    if (escaped.kind === "literal") return escaped.text.codePointAt(0)!;
    return escaped.kind === "characters" ? normalizeRanges(escaped.ranges, escaped.negated) : [];
  }

  private parseEscape(): Expression {
    const { cursor } = this;
    const at = cursor.at;
    cursor.take();
    const escaped = cursor.take();
    const known = characterClass(escaped);
    if (known !== undefined) return { kind: "characters", ...known };
    if (escaped === "p" || escaped === "P") return this.parseProperty(escaped === "P", at);
    if (/^[1-9]$/.test(escaped) || escaped === "k") {
      throw this.error("a backreference is not supported: it is not regular", at);
    }
    if (/^[bBAZzG]$/.test(escaped)) {
      throw this.error(`the assertion \\${escaped} is not supported. Leave it out`, at);
    }
    const code = this.parseCode(escaped, at);
    if (!isCharacter(code)) throw this.error(`there is no escape \\${escaped} like this`, at);
    return { kind: "literal", text: String.fromCodePoint(code) };
  }

  /** The code point of an escape; NaN where there is none. */
  private parseCode(escaped: string, at: number): number {
    const { cursor } = this;
    if (ESCAPES[escaped] !== undefined) return ESCAPES[escaped];
    if (escaped === "0") return /\d/.test(cursor.next) ? NaN : 0;
    const hex = (expression: RegExp) => parseInt(cursor.match(expression)?.[1] ?? "", 16);
    if (escaped === "x") return hex(/([0-9A-Fa-f]{2})/y);
    if (escaped === "c") return (cursor.match(/[A-Za-z]/y)?.[0].charCodeAt(0) ?? NaN) % 32;
    if (escaped === "u") {
      const braced = hex(/\{([0-9A-Fa-f]{1,6})\}/y);
      if (!Number.isNaN(braced)) return braced;
      const code = hex(/([0-9A-Fa-f]{4})/y);
      const low = code >= 0xd800 && code <= 0xdbff ? hex(/\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})/y) : NaN;
      return Number.isNaN(low) ? code : 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (/^[A-Za-z]$/.test(escaped)) throw this.error(`there is no escape \\${escaped}`, at);
    return escaped.codePointAt(0) ?? NaN;
  }

  private parseProperty(negated: boolean, at: number): Expression {
    const name = this.cursor.match(/\{([\w=]{1,60})\}/y)?.[1];
    const ranges = name === undefined || ++this.properties > MOST_PROPERTIES
      ? undefined
      : propertyRanges(name);
    if (ranges !== undefined) return { kind: "characters", ranges, negated };
    throw this.error(
      `wanted a Unicode property such as \\p{Letter} here, at most ${MOST_PROPERTIES} in all`,
      at,
    );
  }

  private takeCharacter(): string {
    const { next } = this.cursor;
    if (!isCharacter(next.codePointAt(0) ?? -1)) throw this.error("got half of a character");
    return this.cursor.take();
  }

  private error(message: string, at = this.cursor.at): M40Error {
    const { column } = this.cursor.position(at);
    return invalidGrammar(`${this.param}, column ${column}: ${message}`, this.param);
  }
}

const ANYTHING: Expression = { kind: "repeat", item: ANY_CHARACTER, least: 0 };
