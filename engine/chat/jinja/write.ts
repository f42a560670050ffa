import { typeError, Unsupported, valueError } from "./errors.ts";
import { floatText } from "./float_text.ts";
import { iterate } from "./iterate.ts";
import { integerText } from "./numbers.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { escapeOf } from "./string_literal.ts";
import {
  Attributed,
  Dict,
  DictView,
  Float,
  isInteger,
  isString,
  Markup,
  Namespace,
  Once,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/** A value as Python's `str` writes it: what `{{ value }}` leaves in the text. */
export function display(rendering: Rendering, value: Value): string {
  if (typeof value === "string") return value;
  if (value instanceof Markup) return value.text;
  if (value instanceof Undefined) return "";
  if (typeof value === "number") return String(value);
  return new Writer(rendering).write(value);
}

/** A value as Python's `repr` writes it. */
export function repr(rendering: Rendering, value: Value): string {
  return new Writer(rendering).write(value);
}

export interface JsonOptions {
  /** What one level is indented by; absent: all on one line. */
  readonly indent?: string;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  /** The order of a mapping's keys; absent: as they stand. */
  readonly order?: (a: Value, b: Value) => number;
  readonly ensureAscii: boolean;
}

/**
 * A value as Python's `json.dumps` writes it.
 *
 * @throws {TemplateError} for what JSON has no form for.
 */
export function toJson(rendering: Rendering, value: Value, options: JsonOptions): string {
  return new Writer(rendering, options).write(value);
}

/** Levels of lists in lists; a namespace can hold itself. */
const MOST_LEVELS = 100;

/** Writes a value piece by piece and counts each: lists that share their parts can be huge as a text. */
class Writer {
  private readonly pieces: string[] = [];
  private length = 0;

  /** @param json JSON; absent: as Python's `repr`. */
  constructor(private readonly rendering: Rendering, private readonly json?: JsonOptions) {}

  write(value: Value): string {
    this.value(value, 0);
    return this.pieces.join("");
  }

  private put(text: string): void {
    const { budget } = this.rendering;
    budget.step();
    budget.grow(this.length += text.length, text.length);
    this.pieces.push(text);
  }

  private quote(text: string): string {
    if (this.json === undefined) return reprString(text);
    const quoted = JSON.stringify(text);
    return this.json.ensureAscii ? escapeBeyondAscii(quoted, this.rendering.marks.mark) : quoted;
  }

  private value(value: Value, level: number): void {
    if (level > MOST_LEVELS) throw valueError(`a value is nested more than ${MOST_LEVELS} deep`);
    const inner = (item: Value) => this.value(item, level + 1);
    if (isString(value)) this.rendering.budget.scan(textOf(value).length);
    if (typeof value === "string") return this.put(this.quote(value));
    if (Array.isArray(value)) return this.items("[", value, "]", level, inner);
    if (value instanceof Dict) return this.mapping(value, level);
    if (value instanceof Tuple) {
      if (this.json !== undefined) return this.items("[", value.items, "]", level, inner);
      // A Python tuple of one is written (1,).
      return this.items("(", value.items, value.items.length === 1 ? ",)" : ")", level, inner);
    }
    if (value instanceof Markup) {
      const quoted = this.quote(value.text);
      return this.put(this.json === undefined ? `Markup(${quoted})` : quoted);
    }
    if (this.json === undefined && this.wrapped(value, level)) return;
    this.put(this.atom(value));
  }

  /** Writes what only Python's `repr` has a form for. */
  private wrapped(value: Value, level: number): boolean {
    if (value instanceof DictView) {
      this.put(`${value.type}(`);
      const items = [...iterate(this.rendering, value)];
      this.items("[", items, "]", level, (item) => this.value(item, level + 2));
      this.put(")");
      return true;
    }
    if (value instanceof Namespace) {
      this.put("<Namespace ");
      this.mapping(value.attributes, level + 1);
      this.put(">");
      return true;
    }
    return false;
  }

  private mapping(dict: Dict, level: number): void {
    this.rendering.budget.scan(ELEMENT * dict.size);
    let entries = [...dict.entries()];
    const { json } = this;
    const order = json?.order;
    if (order !== undefined) entries = entries.sort(([a], [b]) => order(a, b));
    this.items("{", entries, "}", level, ([key, item]) => {
      if (json === undefined) {
        this.value(key, level + 1);
        this.put(": ");
      } else this.put(this.jsonKey(key) + json.keySeparator);
      this.value(item, level + 1);
    });
  }

  private jsonKey(key: Value): string {
    if (isString(key)) return this.quote(textOf(key));
    if (typeof key === "object" && key !== null && !(key instanceof Float)) {
      throw typeError(`${typeName(key)} is no key of JSON`);
    }
    return this.quote(this.atom(key));
  }

  private items<T>(
    open: string,
    items: readonly T[],
    close: string,
    level: number,
    write: (item: T) => void,
  ): void {
    const indent = this.json?.indent;
    const separator = this.json?.itemSeparator ?? ", ";
    const breaks = indent !== undefined && items.length > 0;
    if (breaks) this.rendering.budget.allow(indent.length * (level + 1));
    const line = (depth: number) => breaks ? "\n" + indent.repeat(depth) : "";
    this.put(open + line(level + 1));
    items.forEach((item, i) => {
      if (i > 0) this.put(separator + line(level + 1));
      write(item);
    });
    this.put(line(level) + close);
  }

  private atom(value: Value): string {
    const { json } = this;
    if (value === null) return json ? "null" : "None";
    if (typeof value === "boolean") return json ? String(value) : value ? "True" : "False";
    if (isInteger(value)) return integerText(value);
    if (value instanceof Float) return floatText(value.value, json !== undefined);
    if (json !== undefined) throw typeError(`${typeName(value)} cannot be written as JSON`);
    if (value instanceof Undefined) return "Undefined";
    if (value instanceof Range) {
      const { start, stop, step } = value;
      return `range(${start}, ${stop}${step === 1 ? "" : `, ${step}`})`;
    }
    if (value instanceof Attributed && value.text !== undefined) return value.text();
    if (value instanceof Once) throw new Unsupported(`writing a ${value.type} without |list`);
    throw new Unsupported(`writing a ${typeName(value)}`);
  }
}

/** A string in Python's quotes. */
export function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(
    /[\\'"]|(?! )[\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{Zs}]/gu,
    (character) => {
      if (character === "\\" || character === quote) return "\\" + character;
      if (character === "'" || character === '"') return character;
      const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
      return named[character] ?? escapeOf(character);
    },
  );
  return quote + escaped + quote;
}

/** Everything beyond ASCII as `\uXXXX`, but for the mark, which is nothing that anybody wrote. */
function escapeBeyondAscii(text: string, mark: string): string {
  return text.replace(/[\x7f-\uffff]/g, (character) => {
    if (character === mark) return character;
    return "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0");
  });
}
