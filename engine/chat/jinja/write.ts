import {
  isBoolean,
  isFloat,
  isInteger,
  isList,
  isMapping,
  isNamespace,
  isNone,
  isString,
  isTuple,
  isUndefined,
  mapOf,
  type Value,
} from "./library.ts";
import type { Rendering } from "./rendering.ts";

/** A value as Python's `str` writes it: what `{{ value }}` leaves in the text. */
export function display(rendering: Rendering, value: Value): string {
  if (isString(value)) return value.value;
  if (isUndefined(value)) return "";
  return new Writer(rendering, reprString).write(value);
}

/** How `tojson` writes. */
export interface JsonOptions {
  /** What one level is indented by; absent: all on one line. */
  readonly indent?: string;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
  readonly ensureAscii: boolean;
}

/**
 * A value as Python's `json.dumps` writes it.
 *
 * @throws {Error} for what JSON has no form for.
 */
export function toJson(rendering: Rendering, value: Value, options: JsonOptions): string {
  const quote = (text: string) => {
    const quoted = JSON.stringify(text);
    return options.ensureAscii ? escapeBeyondAscii(quoted, rendering.marks.mark) : quoted;
  };
  return new Writer(rendering, quote, options).write(value);
}

const REPR: JsonOptions = {
  itemSeparator: ", ",
  keySeparator: ": ",
  sortKeys: false,
  ensureAscii: false,
};

/** Levels of lists in lists; a namespace can hold itself. */
const MOST_LEVELS = 100;

/** Writes a value piece by piece and counts each: lists that share their parts can be huge as a text. */
class Writer {
  private readonly pieces: string[] = [];
  private length = 0;

  /** @param options JSON; absent: as Python's `repr`. */
  constructor(
    private readonly rendering: Rendering,
    private readonly quote: (text: string) => string,
    private readonly json?: JsonOptions,
  ) {}

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

  private value(value: Value, level: number): void {
    if (level > MOST_LEVELS) throw new Error(`a value is nested more than ${MOST_LEVELS} deep`);
    if (isString(value)) return this.put(this.quote(value.value));
    if (isList(value)) {
      const [open, close] = this.json || !isTuple(value) ? "[]" : "()";
      // A Python tuple of one is written (1,).
      const end = open === "(" && value.value.length === 1 ? "," + close : close;
      return this.items(open, value.value, end, level, (item) => this.value(item, level + 1));
    }
    if (isMapping(value) || isNamespace(value)) {
      let entries = [...mapOf(value)];
      if (this.json?.sortKeys) entries = entries.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
      return this.items("{", entries, "}", level, ([key, item]) => {
        const isBare = typeof key === "number" && this.json === undefined;
        this.put(
          (isBare ? String(key) : this.quote(String(key))) + (this.json ?? REPR).keySeparator,
        );
        this.value(item, level + 1);
      });
    }
    this.put(this.atom(value));
  }

  private items<T>(
    open: string,
    items: readonly T[],
    close: string,
    level: number,
    write: (item: T) => void,
  ): void {
    const { indent, itemSeparator } = this.json ?? REPR;
    const breaks = indent !== undefined && items.length > 0;
    const line = (depth: number) => breaks ? "\n" + indent.repeat(depth) : "";
    this.put(open + line(level + 1));
    items.forEach((item, i) => {
      if (i > 0) this.put(itemSeparator + line(level + 1));
      write(item);
    });
    this.put(line(level) + close);
  }

  private atom(value: Value): string {
    const { json } = this;
    if (isNone(value)) return json ? "null" : "None";
    if (isBoolean(value)) return json ? String(value.value) : value.value ? "True" : "False";
    if (isInteger(value)) return integerText(value.value);
    if (isFloat(value)) return floatText(value.value, json !== undefined);
    if (json) throw new Error(`a ${value.type} cannot be written as JSON`);
    return isUndefined(value) ? "Undefined" : "<function>";
  }
}

/** A string in Python's quotes. */
function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(/[\\\p{Cc}\p{Zl}\p{Zp}\xa0\xad'"]/gu, (character) => {
    if (character === "\\" || character === quote) return "\\" + character;
    if (character === "'" || character === '"') return character;
    const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
    const code = character.charCodeAt(0);
    const digits = code.toString(16);
    const escape = code < 0x100 ? "\\x" + digits.padStart(2, "0") : "\\u" + digits;
    return named[character] ?? escape;
  });
  return quote + escaped + quote;
}

/** Everything beyond ASCII as `\uXXXX`, but for the mark, which is nothing that anybody wrote. */
function escapeBeyondAscii(text: string, mark: string): string {
  return text.replace(/[\x7f-\uffff]/g, (character) => {
    if (character === mark || character === "\x7f") return character;
    return "\\u" + character.charCodeAt(0).toString(16).padStart(4, "0");
  });
}

/** A whole number in digits. */
function integerText(value: number | bigint): string {
  return typeof value === "number" && Math.abs(value) >= 1e21
    ? BigInt(value).toString()
    : String(value);
}

/** A float as Python's `repr` writes it: the fewest digits that give it back, an exponent from 1e16 on. */
export function floatText(value: number, json = false): string {
  if (!Number.isFinite(value)) {
    const name = Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
    return json ? { nan: "NaN", inf: "Infinity", "-inf": "-Infinity" }[name]! : name;
  }
  if (Object.is(value, -0)) return "-0.0";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}
