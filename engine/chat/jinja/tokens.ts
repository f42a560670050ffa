import { Float, type Value } from "./values.ts";
import { isSpace } from "./marks.ts";
import { TemplateSyntaxError } from "./syntax_error.ts";
import { unescapeString } from "./string_literal.ts";

/** What a token is: text outside of blocks, an end of a block, or what stands within one. */
export type TokenType =
  | "data"
  | "variable_begin"
  | "variable_end"
  | "block_begin"
  | "block_end"
  | "name"
  | "string"
  | "number"
  | "operator"
  | "end";

export interface Token {
  readonly type: TokenType;
  /** A name, an operator, or a text. */
  readonly text: string;
  /** What a number or a string is. */
  readonly value?: Value;
  readonly line: number;
}

const FLOAT = /(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy;
const INTEGER = /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy;
const NAME = /[\p{L}\p{N}\p{M}\p{Pc}]+/uy;
const IDENTIFIER = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u;
const STRING = /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/y;
const OPERATOR = /\/\/|\*\*|==|!=|>=|<=|[-+\/*%~[\](){}><=.:|,;]/y;
const RAW = /^([-+]?)\s*raw\s*(?:-%\}\s*|%\})/;
const CLOSERS: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * A template's tokens, read as Jinja reads them with `trim_blocks` and `lstrip_blocks`. Line breaks become line feeds, a
 * byte order mark at the start and one line break at the end are left out.
 *
 * @throws {TemplateSyntaxError}
 */
export function tokenize(template: string): Token[] {
  return new Lexer(template).tokens();
}

class Lexer {
  private readonly source: string;
  private readonly found: Token[] = [];
  private at = 0;
  private line = 1;
  /** Whether what was read last ended a line. */
  private lineStarts = true;

  constructor(template: string) {
    const lines = template.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
    this.source = lines.endsWith("\n") ? lines.slice(0, -1) : lines;
  }

  tokens(): Token[] {
    while (this.at < this.source.length) this.data();
    this.put("end", "");
    return this.found;
  }

  private put(type: TokenType, text: string, value?: Value): void {
    this.found.push({ type, text, value, line: this.line });
  }

  /** Goes on behind a place, counting lines. */
  private advance(to: number): void {
    for (let i = this.at; i < to; i++) if (this.source[i] === "\n") this.line++;
    this.at = to;
    this.lineStarts = this.source[to - 1] === "\n";
  }

  private fail(message: string): never {
    throw new TemplateSyntaxError(message, this.line);
  }

  private skipSpace(from: number): number {
    let at = from;
    while (at < this.source.length && isSpace(this.source[at])) at++;
    return at;
  }

  /** A text up to the next `{{`, `{%` or `{#`, and what that begins. */
  private data(): void {
    const { source } = this;
    let open = this.at;
    do open = source.indexOf("{", open); while (
      open >= 0 && !"{%#".includes(source[++open] ?? "~")
    );
    if (open < 0) {
      this.put("data", source.slice(this.at));
      return this.advance(source.length);
    }
    const kind = source[open];
    const sign = "+-".includes(source[open + 1] ?? "~") ? source[open + 1] : "";
    const text = this.stripped(source.slice(this.at, open - 1), sign, kind !== "{");
    if (text !== "") this.put("data", text);
    this.advance(open + 1 + sign.length);
    if (kind === "#") return this.comment();
    if (kind === "{") return this.inside("variable");
    const raw = RAW.exec(source.slice(open + 1, open + 200));
    if (raw !== null) return this.raw(open + 1 + raw[0].length);
    return this.inside("block");
  }

  /** A text in front of a block, without the white space that its sign takes. */
  private stripped(text: string, sign: string, isBlock: boolean): string {
    if (sign === "-") {
      let end = text.length;
      while (end > 0 && isSpace(text[end - 1])) end--;
      return text.slice(0, end);
    }
    if (sign === "+" || !isBlock) return text;
    const line = text.lastIndexOf("\n") + 1;
    if (line === 0 && !this.lineStarts) return text;
    for (let i = line; i < text.length; i++) if (!isSpace(text[i])) return text;
    return text.slice(0, line);
  }

  /** Goes on behind the end of a block: `-%}` takes white space, `%}` a line break. */
  private endAt(place: number, sign: string): void {
    const behind = place + sign.length + 2;
    if (sign === "-") this.advance(this.skipSpace(behind));
    else this.advance(sign === "" && this.source[behind] === "\n" ? behind + 1 : behind);
  }

  private comment(): void {
    const end = this.source.indexOf("#}", this.at);
    if (end < 0) this.fail("a comment has no end: wanted #}");
    const before = end > this.at ? this.source[end - 1] : "";
    if (before === "-" || before === "+") this.endAt(end - 1, before);
    else this.endAt(end, "");
  }

  /** A text up to `endraw`, as it stands. */
  private raw(start: number): void {
    this.advance(start);
    const end = /\{%([-+]?)\s*endraw\s*(?:([-+])%\}|%\})/g;
    end.lastIndex = start;
    const match = end.exec(this.source);
    if (match === null) this.fail("a raw block has no end: wanted {% endraw %}");
    const text = this.stripped(this.source.slice(start, match.index), match[1], true);
    if (text !== "") this.put("data", text);
    const sign = match[2] ?? "";
    this.endAt(match.index + match[0].length - 2 - sign.length, sign);
  }

  /** What stands in `{{ }}` or `{% %}`. */
  private inside(kind: "variable" | "block"): void {
    this.put(`${kind}_begin`, "");
    const open: string[] = [];
    const end = kind === "variable" ? "}}" : "%}";
    for (;;) {
      const { source } = this;
      const at = this.skipSpace(this.at);
      this.advance(at);
      if (at >= source.length) this.fail("the template ends within a block");
      if (open.length === 0) {
        const signs = kind === "block" ? "-+" : "-";
        const sign = signs.includes(source[at]) && source.startsWith(end, at + 1) ? source[at] : "";
        if (sign !== "" || source.startsWith(end, at)) {
          this.put(`${kind}_end`, "");
          if (kind === "block" || sign === "-") this.endAt(at, sign);
          else this.advance(at + 2);
          return;
        }
      }
      this.token(open);
    }
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    return pattern.exec(this.source)?.[0];
  }

  private token(open: string[]): void {
    const float = this.source[this.at - 1] === "." ? undefined : this.match(FLOAT);
    if (float !== undefined) {
      this.put("number", float, new Float(Number(float.replaceAll("_", ""))));
      return this.advance(this.at + float.length);
    }
    const integer = this.match(INTEGER);
    if (integer !== undefined) {
      const digits = integer.replaceAll("_", "").toLowerCase();
      if (digits.length > 4300) this.fail("an integer has more than 4300 digits");
      const number = Number(digits);
      this.put("number", integer, Number.isSafeInteger(number) ? number : BigInt(digits));
      return this.advance(this.at + integer.length);
    }
    const name = this.match(NAME);
    if (name !== undefined) {
      if (!IDENTIFIER.test(name)) this.fail(`"${name.slice(0, 80)}" is no name`);
      this.put("name", name);
      return this.advance(this.at + name.length);
    }
    const string = this.match(STRING);
    if (string !== undefined) {
      this.put("string", "", unescapeString(string.slice(1, -1), this.line));
      return this.advance(this.at + string.length);
    }
    const operator = this.match(OPERATOR);
    if (operator === undefined) this.fail(`unexpected "${this.source[this.at]}"`);
    if (operator in CLOSERS) open.push(CLOSERS[operator]);
    else if (operator === ")" || operator === "]" || operator === "}") {
      if (open.pop() !== operator) this.fail(`unexpected "${operator}"`);
    }
    this.put("operator", operator);
    this.advance(this.at + operator.length);
  }
}
