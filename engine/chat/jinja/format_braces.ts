import { lookupError, typeError, valueError } from "./errors.ts";
import { escapeText } from "./escape.ts";
import { asciiRepr } from "./format_percent.ts";
import { formatValue } from "./format_spec.ts";
import type { Rendering } from "./rendering.ts";
import { Args, Markup, textOf, type Value } from "./values.ts";
import { display, repr } from "./write.ts";

/** How `{a.b}` and `{a[b]}` find a part of a value. */
export interface Parts {
  attribute(value: Value, name: string): Value;
  item(value: Value, key: Value): Value;
}

/** Fields within fields' formats, as Python has it. */
const MOST_LEVELS = 3;

/**
 * A text with its `{}` replaced, as Python's `str.format` does; what joins a text that is safe as HTML is escaped.
 *
 * @throws {TemplateError} Where Python would.
 */
export function formatBraces(
  rendering: Rendering,
  format: string | Markup,
  args: Args,
  parts: Parts,
): Value {
  const formatter = new BraceFormatter(rendering, args, parts, format instanceof Markup);
  return rendering.like(format, formatter.format(textOf(format), MOST_LEVELS));
}

class BraceFormatter {
  private next: number | undefined = 0;
  private length = 0;

  constructor(
    private readonly rendering: Rendering,
    private readonly args: Args,
    private readonly parts: Parts,
    private readonly isSafe: boolean,
  ) {}

  format(text: string, levels: number): string {
    if (levels === 0) throw valueError("formats stand too deep in formats");
    const pieces: string[] = [];
    let at = 0;
    while (at < text.length) {
      const found = /[{}]/g;
      found.lastIndex = at;
      const brace = found.exec(text)?.index ?? text.length;
      pieces.push(text.slice(at, brace));
      if (brace === text.length) break;
      if (text[brace + 1] === text[brace]) {
        pieces.push(text[brace]);
        at = brace + 2;
        continue;
      }
      if (text[brace] === "}") throw valueError("a format has a } that is alone");
      const end = this.closing(text, brace + 1);
      const piece = this.field(text.slice(brace + 1, end), levels);
      this.length += piece.length;
      this.rendering.budget.grow(this.length, piece.length);
      pieces.push(piece);
      at = end + 1;
    }
    return pieces.join("");
  }

  private closing(text: string, start: number): number {
    let open = 1;
    let isKey = false;
    let isSpec = false;
    for (let i = start; i < text.length; i++) {
      if (isKey) isKey = text[i] !== "]";
      else if (text[i] === "[" && open === 1 && !isSpec) isKey = true;
      else if (text[i] === ":") isSpec = true;
      else if (text[i] === "{") open++;
      else if (text[i] === "}" && --open === 0) return i;
    }
    throw valueError("a format has a { without its }");
  }

  private field(field: string, levels: number): string {
    const match = /^((?:[^[\]!:{}]|\[[^\]]*\])*)(?:!([^]?))?(?::([^]*))?$/.exec(field);
    if (match === null) throw valueError("a format has a field that cannot be read");
    const [, name, conversion, spec = ""] = match;
    let value = this.value(this.rendering.marks.plain(name));
    if (conversion !== undefined) value = this.converted(value, conversion);
    const inner = this.format(spec, levels - 1);
    if (this.isSafe) return this.safe(value, inner);
    return formatValue(this.rendering, value, inner);
  }

  private safe(value: Value, spec: string): string {
    if (value instanceof Markup) {
      if (spec !== "") throw valueError("what is safe as HTML takes no format");
      return value.text;
    }
    return escapeText(this.rendering, formatValue(this.rendering, value, spec));
  }

  private converted(value: Value, conversion: string): Value {
    const { rendering } = this;
    if (conversion === "s") return rendering.string(display(rendering, value));
    if (conversion === "r") return rendering.string(repr(rendering, value));
    if (conversion === "a") return rendering.string(asciiRepr(repr(rendering, value)));
    throw valueError(`a format has no conversion "!${conversion}"`);
  }

  /** What `0`, `name`, `name.attribute` or `name[key]` stands for. */
  private value(name: string): Value {
    const [first] = /^[^.[]*/.exec(name)!;
    let value = this.argument(first);
    let rest = name.slice(first.length);
    while (rest !== "") {
      this.rendering.budget.step();
      const part = /^(?:\.([^.[]+)|\[([^\]]+)\])/.exec(rest);
      if (part === null) throw valueError("a format has a field with an empty part");
      const [whole, attribute, key] = part;
      value = attribute !== undefined
        ? this.parts.attribute(value, attribute)
        : this.parts.item(value, /^\d+$/.test(key) ? Number(key) : key);
      rest = rest.slice(whole.length);
    }
    return value;
  }

  private argument(name: string): Value {
    const { positional, named } = this.args;
    const isNumber = /^\d+$/.test(name);
    if (name !== "" && !isNumber) {
      const value = named.get(name);
      if (value === undefined) throw lookupError(`a format wants a value "${name}"`);
      return value;
    }
    if (isNumber) {
      if (this.next !== undefined && this.next > 0) {
        throw valueError("a format has both numbered fields and others");
      }
      this.next = undefined;
    } else if (this.next === undefined) {
      throw valueError("a format has both numbered fields and others");
    }
    const place = isNumber ? Number(name) : this.next!++;
    const value = positional[place];
    if (value === undefined) throw lookupError(`a format wants a value ${place}`);
    return value;
  }
}

/** What `format_map` is given, as arguments with names. */
export function mappedArgs(entries: Iterable<[Value, Value]>): Args {
  const named = new Map<string, Value>();
  for (const [key, value] of entries) {
    if (typeof key !== "string") throw typeError("format_map wants names as keys");
    named.set(key, value);
  }
  return new Args([], named);
}
