import { bind, flag, integer, unfit } from "./arguments.ts";
import { pathOf } from "./attribute_paths.ts";
import { attribute } from "./attributes.ts";
import { overflowError, TemplateError, typeError, undefinedError, valueError } from "./errors.ts";
import { fixed } from "./float_text.ts";
import { UNSUPPORTED_FILTERS } from "./filter_names.ts";
import { iterate } from "./iterate.ts";
import { declared, type Filter, type Given, LIST_FILTERS, once } from "./list_filters.ts";
import {
  calculate,
  floatOf,
  integerOf,
  isNumber,
  parseFloatText,
  parseInteger,
  round,
  signed,
  truncated,
} from "./numbers.ts";
import type { Rendering } from "./rendering.ts";
import { passes } from "./tests.ts";
import { TEXT_FILTERS } from "./text_filters.ts";
import { Args, Dict, Float, isString, isTrue, textOf, Undefined, type Value } from "./values.ts";

/** The text of a number, without white space around it. */
function numeral(rendering: Rendering, value: Value): string {
  const { marks } = rendering;
  return marks.strip(marks.plain(isString(value) ? textOf(value) : ""), "both");
}

/** A number as Python's `int(float(…))` makes it whole; undefined where it is none. */
function wholeOf(value: number | undefined): Value | undefined {
  return value === undefined || !Number.isFinite(value) ? undefined : truncated(value);
}

/** Characters of a number that takes no long time to read. */
const SHORT_NUMERAL = 64;

function int(rendering: Rendering, value: Value, [fallback = 0, base]: Given): Value {
  if (value instanceof Undefined) throw undefinedError(value);
  if (value instanceof Float) {
    if (Math.abs(value.value) === Infinity) throw overflowError("infinity is no whole number");
    return wholeOf(value.value) ?? fallback;
  }
  if (isNumber(value)) return integerOf(value);
  if (!isString(value)) return fallback;
  if (textOf(value).length > SHORT_NUMERAL || base !== undefined) rendering.budget.uncounted();
  const text = numeral(rendering, value);
  let found: Value | undefined;
  try {
    found = parseInteger(text, integer(base, 10, "int"));
  } catch (error) {
    if (!isCaught(error)) throw error;
  }
  return found ?? wholeOf(parseFloatText(text)) ?? fallback;
}

function isCaught(error: unknown): boolean {
  return error instanceof TemplateError &&
    (error.kind === "ValueError" || error.kind === "TypeError");
}

function float(rendering: Rendering, value: Value, [fallback = new Float(0)]: Given): Value {
  if (value instanceof Undefined) throw undefinedError(value);
  if (isNumber(value)) return new Float(floatOf(value));
  if (!isString(value)) return fallback;
  if (textOf(value).length > SHORT_NUMERAL) rendering.budget.uncounted();
  const found = parseFloatText(numeral(rendering, value));
  return found === undefined ? fallback : new Float(found);
}

function rounded(_: Rendering, value: Value, [precision, how = "common"]: Given): Value {
  const method = isString(how) ? textOf(how) : "";
  if (!["common", "ceil", "floor"].includes(method)) {
    throw valueError("round goes by common, ceil or floor");
  }
  if (!isNumber(value)) throw unfit("round", "a number", value);
  if (method === "common") {
    if (precision === null) {
      return value instanceof Float ? truncated((round(value, 0) as Float).value) : round(value, 0);
    }
    return round(value, integer(precision, 0, "round"));
  }
  const power = calculate("**", 10, integer(precision, 0, "round"));
  const scaled = calculate("*", value, power as number | Float);
  const whole = scaled instanceof Float
    ? truncated(method === "ceil" ? Math.ceil(scaled.value) : Math.floor(scaled.value))
    : scaled as number;
  return calculate("/", whole, power as number | Float);
}

function absolute(_: Rendering, value: Value): Value {
  if (!isNumber(value)) throw unfit("abs", "a number", value);
  const number = value instanceof Float ? value.value : integerOf(value);
  return number < 0 || Object.is(number, -0) ? signed(value, true) : signed(value, false);
}

function filesizeformat(rendering: Rendering, value: Value, [binary]: Given): Value {
  const bytes = isNumber(value)
    ? floatOf(value)
    : isString(value)
    ? parseFloatText(numeral(rendering, value))
    : undefined;
  if (bytes === undefined) throw unfit("filesizeformat", "a number", value);
  const base = flag(binary) ? 1024 : 1000;
  if (bytes === 1) return "1 Byte";
  if (bytes < base) return `${truncated(bytes)} Bytes`;
  const prefixes = flag(binary)
    ? ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    : ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
  let i = 0;
  while (i < prefixes.length - 1 && bytes >= base ** (i + 2)) i++;
  const size = base * bytes / base ** (i + 2);
  return `${Number.isFinite(size) ? fixed(size, 1) : Number.isNaN(size) ? "nan" : "inf"} ${
    prefixes[i]
  }`;
}

function fallback(_: Rendering, value: Value, [other = "", whenFalse]: Given): Value {
  return value instanceof Undefined || (flag(whenFalse) && !isTrue(value)) ? other : value;
}

function attr(rendering: Rendering, value: Value, [name]: Given): Value {
  if (!isString(name)) throw typeError("attr wants a name");
  const plainName = rendering.marks.plain(textOf(name));
  // Attributes alone count here, not the entries of a mapping.
  const object = value instanceof Dict ? new Dict() : value;
  const found = attribute(rendering, object, plainName);
  return found instanceof Undefined || !(value instanceof Dict)
    ? found
    : attribute(rendering, value, plainName);
}

/** `map(attribute=…)`, or a filter by name for every element. */
function map(rendering: Rendering, value: Value, args: Args): Value {
  return once(function* () {
    if (!isTrue(value)) return;
    const change = mapping(rendering, args);
    for (const one of iterate(rendering, value)) {
      rendering.budget.step();
      yield change(one);
    }
  });
}

function mapping(rendering: Rendering, { positional, named }: Args): (value: Value) => Value {
  if (positional.length === 0 && named.has("attribute")) {
    const [path, other] = bind("map", new Args([], named), ["attribute", "default"]);
    return pathOf(rendering, path, other);
  }
  const [name, ...rest] = positional;
  if (!isString(name)) throw typeError("map wants an attribute or a filter's name");
  const plainName = rendering.marks.plain(textOf(name));
  return (value) => applyFilter(rendering, plainName, value, new Args(rest, named));
}

/** Those of the elements that pass a test, or those that do not. */
function selecting(wanted: boolean, byAttribute: boolean): Filter {
  return (rendering, value, { positional, named }) =>
    once(function* () {
      // As in Jinja, nothing comes of what is false, whatever it is.
      if (!isTrue(value)) return;
      const rest = [...positional];
      const path = byAttribute ? rest.shift() : null;
      if (path === undefined) throw typeError("an attribute is wanted");
      const find = pathOf(rendering, path);
      const name = rest.shift();
      if (name !== undefined && !isString(name)) throw typeError("a test's name is wanted");
      const test = name && rendering.marks.plain(textOf(name));
      const args = new Args(rest, named);
      for (const one of iterate(rendering, value)) {
        rendering.budget.step();
        const tested = find(one);
        const holds = test === undefined ? isTrue(tested) : passes(rendering, test, tested, args);
        if (holds === wanted) yield one;
      }
    });
}

const FILTERS = new Map<string, Filter>([
  ...LIST_FILTERS,
  ...TEXT_FILTERS,
  ["map", map],
  ["select", selecting(true, false)],
  ["reject", selecting(false, false)],
  ["selectattr", selecting(true, true)],
  ["rejectattr", selecting(false, true)],
  ...declared({
    default: [fallback, "default_value boolean"],
    attr: [attr, "name", 1],
    int: [int, "default base"],
    float: [float, "default"],
    abs: [absolute],
    round: [rounded, "precision method"],
    filesizeformat: [filesizeformat, "binary"],
  }),
]);
FILTERS.set("d", FILTERS.get("default")!);

/** Filters that may take longer than any count of them says. */
const UNCOUNTED = new Set([
  ...["batch", "filesizeformat", "forceescape", "format", "groupby", "pprint", "round"],
  ...["slice", "striptags", "urlencode", "wordcount", "wordwrap", "xmlattr"],
]);

export const knownFilters = (): string[] => [...FILTERS.keys()];

/** Why a filter cannot be used; undefined where it can. */
export function filterProblem(name: string): string | undefined {
  if (FILTERS.has(name)) return undefined;
  if (UNSUPPORTED_FILTERS.has(name)) return `the filter "${name}" is not supported here`;
  return `there is no filter "${name.slice(0, 80)}"`;
}

/**
 * What a filter makes of a value.
 *
 * @throws {Error} Where there is no filter of that name, or what it throws.
 */
export function applyFilter(rendering: Rendering, name: string, value: Value, args: Args): Value {
  const filter = FILTERS.get(name);
  if (filter === undefined) throw new TemplateError("other", filterProblem(name)!);
  rendering.builtin(!UNCOUNTED.has(name), value, args);
  return filter(rendering, value, args);
}
