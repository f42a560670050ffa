import { TemplateSyntaxError } from "./syntax_error.ts";

/** What a backslash and a character stand for in Python. */
export const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([^]))/gu;

/**
 * What stands between the quotes of a string, its escapes read as Python's `unicode-escape` reads them: unknown ones stay.
 *
 * @throws {TemplateSyntaxError} For an escape without its digits.
 */
export function unescapeString(text: string, line: number): string {
  if (!text.includes("\\")) return text;
  return text.replace(ESCAPE, (whole, x, u, long, octal, other) => {
    if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
    const digits = x ?? u ?? long;
    if (digits !== undefined) {
      const code = parseInt(digits, 16);
      if (code > 0x10ffff) throw new TemplateSyntaxError(`${whole} is no character`, line);
      return String.fromCodePoint(code);
    }
    if (other === "N") throw new TemplateSyntaxError("\\N{...} is not supported here", line);
    if ("xuU".includes(other)) {
      throw new TemplateSyntaxError(`the escape \\${other} wants hexadecimal digits`, line);
    }
    const simple = SIMPLE_ESCAPES[other];
    if (simple !== undefined) return simple;
    // Jinja writes what is beyond ASCII as an escape first, whose own backslash this one then escapes.
    return other.codePointAt(0)! < 0x80 ? whole : escapeOf(other);
  });
}

/** A character as Python escapes it by its code. */
export function escapeOf(character: string): string {
  const code = character.codePointAt(0)!;
  const digits = code.toString(16);
  if (code < 0x100) return "\\x" + digits.padStart(2, "0");
  return code < 0x10000 ? "\\u" + digits.padStart(4, "0") : "\\U" + digits.padStart(8, "0");
}
