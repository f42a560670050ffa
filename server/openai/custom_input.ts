/**
 * The input of custom tools, which are functions with one text to the model: what it writes are the arguments
 * `{"input": "…"}`, and what a client reads is the text itself.
 *
 * @module
 */
import { objectAt, stringAt, wrongField } from "../request/mod.ts";

/** What the schema of a custom tool's function is. */
export const INPUT_SCHEMA = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
} as const;

/**
 * What the prompt says of a custom tool. That includes the form of its input, which nothing enforces.
 *
 * @param format As responses have it: chat has a grammar's fields in one of their own.
 * @param at Where the format stands in the body.
 * @throws {HttpError} 400 for a format that cannot be read.
 */
export function customDescription(
  description: string | undefined,
  format: unknown,
  at: string,
): string | undefined {
  if (format == null) return description;
  const { type, syntax, definition } = objectAt(format, at);
  if (type === "text") return description;
  if (type !== "grammar") throw wrongField(`${at}.type`, '"text" or "grammar"', type);
  const kind = syntax === "regex" ? "regular expression" : "grammar";
  const grammar = `The input matches this ${kind}:\n${stringAt(definition, `${at}.definition`)}`;
  return description === undefined ? grammar : `${description}\n\n${grammar}`;
}

/** The arguments that an input is to the model. */
export function inputArguments(input: string): string {
  return JSON.stringify({ input });
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Reads the input out of arguments that come in pieces. */
export class InputReader {
  /** Where in the arguments: before the input's text, in it, or behind it. */
  private place: "before" | "inside" | "behind" = "before";
  /** What was read and not understood yet: the start of an escape. */
  private rest = "";

  /** What the next piece of the arguments adds to the input. */
  push(piece: string): string {
    if (this.place === "behind") return "";
    const text = this.rest + piece;
    let at = 0;
    if (this.place === "before") {
      const begin = /^[^:]*:\s*"/.exec(text);
      if (begin === null) {
        this.rest = text;
        return "";
      }
      this.place = "inside";
      at = begin[0].length;
    }
    let input = "";
    for (; at < text.length;) {
      if (text[at] === '"') {
        this.place = "behind";
        this.rest = "";
        return input;
      }
      if (text[at] !== "\\") {
        const run = /[^"\\]+/y;
        run.lastIndex = at;
        const [plain] = run.exec(text)!;
        input += plain;
        at += plain.length;
        continue;
      }
      const length = escapeLength(text, at);
      if (length === undefined) break;
      input += decoded(text.slice(at, at + length));
      at += length;
    }
    this.rest = text.slice(at);
    return input;
  }
}

/** The characters of the escape at a place, both halves of a pair together; undefined where it is not whole. */
function escapeLength(text: string, at: number): number | undefined {
  const left = text.length - at;
  if (left < 2) return undefined;
  if (text[at + 1] !== "u") return 2;
  if (left < 6) return undefined;
  const first = parseInt(text.slice(at + 2, at + 6), 16);
  if (first < 0xd800 || first > 0xdbff) return 6;
  // Half of a pair is no text that can be sent by itself; what does not go on as one is alone.
  const next = text.slice(at + 6, at + 8);
  if (!"\\u".startsWith(next)) return 6;
  return left < 12 ? undefined : 12;
}

function decoded(escape: string): string {
  if (escape[1] === "u") {
    return escape.split("\\u").slice(1)
      .map((hex) => String.fromCharCode(parseInt(hex, 16))).join("");
  }
  return ESCAPES[escape[1]] ?? escape[1];
}
