import { bind, integer } from "./arguments.ts";
import { TemplateError, typeError, undefinedError, Unsupported, valueError } from "./errors.ts";
import { formatBraces, mappedArgs, type Parts } from "./format_braces.ts";
import { elementAt, lengthOf, sequenceOf } from "./iterate.ts";
import { isNumber, type NumberValue } from "./numbers.ts";
import { hashOf, isSame } from "./operators.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { bounds, sliced } from "./slices.ts";
import {
  MARKUP_METHODS,
  STRING_METHODS,
  UNCOUNTED_STRING_METHODS,
  UNSUPPORTED_STRING_METHODS,
} from "./string_methods.ts";
import {
  type Args,
  Attributed,
  Dict,
  DictView,
  Float,
  Func,
  isInteger,
  isString,
  Markup,
  Namespace,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/** Methods that change a value, which the sandbox of `transformers` does not let templates call. */
const CHANGING: Readonly<Record<string, readonly string[]>> = {
  list: ["append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"],
  dict: ["clear", "pop", "popitem", "setdefault", "update"],
};

/** Attributes that Python's values have and these do not. */
const UNSUPPORTED: Readonly<Record<string, readonly string[]>> = {
  str: UNSUPPORTED_STRING_METHODS,
  Markup: [...UNSUPPORTED_STRING_METHODS, "escape"],
  int: ["as_integer_ratio", "from_bytes", "to_bytes"],
  bool: ["as_integer_ratio", "from_bytes", "to_bytes"],
  float: ["as_integer_ratio", "fromhex", "hex"],
  dict: ["fromkeys"],
  dict_items: ["isdisjoint", "mapping"],
  dict_keys: ["isdisjoint", "mapping"],
  dict_values: ["mapping"],
};

/** `a.b`: a method or an attribute, then an entry; undefined where there is neither. */
export function attribute(rendering: Rendering, object: Value, name: string): Value {
  const own = ownAttribute(rendering, object, name);
  if (own !== undefined) return own;
  if (object instanceof Dict) {
    const entry = object.get(name);
    if (entry !== undefined) return entry;
  }
  return missing(object, name);
}

/** `a[b]`: an entry, then an attribute where the key is a text; undefined where there is neither. */
export function item(rendering: Rendering, object: Value, key: Value): Value {
  const entry = entryOf(rendering, object, key);
  if (entry !== undefined) return entry;
  if (isString(key)) {
    rendering.budget.scan(textOf(key).length);
    const name = rendering.marks.plain(textOf(key));
    const own = ownAttribute(rendering, object, name);
    return own === undefined ? missing(object, name) : own;
  }
  return new Undefined(`${typeName(object)} has no such element`);
}

function missing(object: Value, name: string): Undefined {
  return new Undefined(`a ${typeName(object)} has no attribute "${name.slice(0, 80)}"`);
}

function entryOf(rendering: Rendering, object: Value, key: Value): Value | undefined {
  if (object instanceof Undefined) throw undefinedError(object);
  if (object instanceof Dict) {
    // What cannot be a key is in no mapping.
    if (isKey(rendering, key)) return object.get(hashOf(rendering, key));
    return undefined;
  }
  const place = typeof key === "boolean" ? Number(key) : key;
  if (typeof place !== "number") return undefined;
  const isSequence = Array.isArray(object) || object instanceof Tuple || object instanceof Range ||
    isString(object);
  if (!isSequence) return undefined;
  const length = lengthOf(rendering, object);
  return place < length && place >= -length ? elementAt(rendering, object, place) : undefined;
}

/** Counted, as tuples that share their parts can have many more than there are. */
function isKey(rendering: Rendering, value: Value): boolean {
  rendering.budget.step();
  if (value instanceof DictView) return value.kind === "values";
  if (Array.isArray(value) || value instanceof Dict) return false;
  if (value instanceof Tuple) {
    for (const one of value.items) if (!isKey(rendering, one)) return false;
  }
  return true;
}

/** What Python's `getattr` finds; undefined where there is nothing of that name. */
function ownAttribute(rendering: Rendering, object: Value, name: string): Value | undefined {
  if (object instanceof Undefined) throw undefinedError(object);
  if (object instanceof Namespace) return object.attributes.get(name);
  const type = typeName(object);
  if (Object.hasOwn(CHANGING, type) && CHANGING[type].includes(name)) {
    return new Undefined(`a chat template may not call ${type}.${name}, which changes the ${type}`);
  }
  const found = attributeOf(rendering, object, name);
  if (found === undefined && Object.hasOwn(UNSUPPORTED, type) && UNSUPPORTED[type].includes(name)) {
    throw new Unsupported(`${type}.${name}`);
  }
  return found;
}

function attributeOf(rendering: Rendering, object: Value, name: string): Value | undefined {
  if (isString(object)) return stringMethod(rendering, object, name);
  if (object instanceof Dict) return mappingMethod(rendering, object, name);
  if (Array.isArray(object)) {
    if (name === "copy") return method(name, () => rendering.list([...object]));
    return sequenceMethod(rendering, object, name);
  }
  if (object instanceof Tuple) {
    if (object.named && name === "grouper") return object.items[0];
    if (object.named && name === "list") return object.items[1];
    return sequenceMethod(rendering, object, name);
  }
  if (object instanceof Range) {
    if (name === "start" || name === "stop" || name === "step") return object[name];
    return sequenceMethod(rendering, object, name);
  }
  if (isNumber(object)) return numberAttribute(rendering, object, name);
  if (object instanceof Attributed) return object.attribute(name);
}

function method(name: string, work: (args: Args) => Value): Func {
  return new Func(name, (args) => {
    bind(name, args, []);
    return work(args);
  });
}

function stringMethod(
  rendering: Rendering,
  self: string | Markup,
  name: string,
): Value | undefined {
  const found = STRING_METHODS.get(name) ??
    (self instanceof Markup ? MARKUP_METHODS.get(name) : undefined);
  if (found !== undefined) {
    return new Func(name, (args) => {
      rendering.builtin(!UNCOUNTED_STRING_METHODS.has(name), self, args);
      return found(rendering, textOf(self), args, self);
    });
  }
  const parts: Parts = {
    attribute: (value, part) => attribute(rendering, value, part),
    item: (value, key) => item(rendering, value, key),
  };
  if (name !== "format" && name !== "format_map") return undefined;
  return new Func(name, (args) => {
    rendering.budget.uncounted();
    if (name === "format") return formatBraces(rendering, self, args, parts);
    const [mapping] = bind("format_map", args, ["mapping"], 1);
    if (!(mapping instanceof Dict)) throw typeError("format_map wants a mapping");
    return formatBraces(rendering, self, mappedArgs(mapping.entries()), parts);
  });
}

function mappingMethod(rendering: Rendering, dict: Dict, name: string): Value | undefined {
  switch (name) {
    case "items":
    case "keys":
    case "values":
      return method(name, () => new DictView(dict, name));
    case "get":
      return new Func(name, (args) => {
        if (args.named.size > 0) throw typeError("get takes no arguments by name");
        const [key, fallback = null] = bind(name, args, ["key", "default"], 1);
        const found = dict.get(hashOf(rendering, key!));
        return found === undefined ? fallback : found;
      });
    case "copy":
      return method(name, () => {
        rendering.budget.list(dict.size);
        const copy = new Dict();
        for (const [hash, key] of dict.hashes()) copy.set(hash, key, dict.get(hash)!);
        return copy;
      });
  }
}

function sequenceMethod(
  rendering: Rendering,
  sequence: Value[] | Tuple | Range,
  name: string,
): Value | undefined {
  const places = (wanted: Value) => {
    const items = sequenceOf(rendering, sequence)!;
    rendering.budget.scan(ELEMENT * items.length);
    return items.flatMap((one, i) => isSame(rendering, one, wanted) ? [i] : []);
  };
  switch (name) {
    case "count":
      return new Func(name, (args) => places(bind(name, args, ["value"], 1)[0]!).length);
    case "index":
      return new Func(name, (args) => {
        const [wanted, start, stop] = bind(name, args, ["value", "start", "stop"], 1);
        const length = lengthOf(rendering, sequence);
        const [from, to] = bounds(length, integer(start, 0, name), integer(stop, length, name));
        const found = places(wanted!).find((place) => place >= from && place < to);
        if (found === undefined) throw valueError("the value is not in the list");
        return found;
      });
  }
}

function numberAttribute(
  rendering: Rendering,
  number: NumberValue,
  name: string,
): Value | undefined {
  if (name === "imag") return number instanceof Float ? new Float(0) : 0;
  const plain = typeof number === "boolean" ? Number(number) : number;
  if (name === "real") return plain;
  if (name === "conjugate") return method(name, () => plain);
  if (plain instanceof Float) {
    // Python's whole numbers have it from 3.12 on.
    return name === "is_integer" ? method(name, () => Number.isInteger(plain.value)) : undefined;
  }
  if (name === "numerator") return plain;
  if (name === "denominator") return 1;
  if (name !== "bit_length" && name !== "bit_count") return undefined;
  rendering.budget.uncounted();
  const bits = BigInt(plain).toString(2).replace("-", "");
  const length = bits === "0" ? 0 : bits.length;
  return method(name, () => name === "bit_length" ? length : bits.replaceAll("0", "").length);
}

/** `a[start:stop:step]`. */
export function slice(rendering: Rendering, object: Value, given: readonly Value[]): Value {
  const [start, stop, step = 1] = given.map((value) => {
    if (value === null) return undefined;
    if (isInteger(value) || typeof value === "boolean") return integer(value, 0, "a slice");
    throw typeError("a slice wants whole numbers");
  });
  if (object instanceof Undefined) throw undefinedError(object);
  if (step === 0) throw valueError("the step of a slice must not be 0");
  if (isString(object)) return sliceText(rendering, object, start, stop, step);
  if (Array.isArray(object)) {
    rendering.budget.list(object.length);
    return sliced(object, start, stop, step);
  }
  if (object instanceof Tuple) {
    rendering.budget.list(object.items.length);
    return new Tuple(sliced(object.items, start, stop, step));
  }
  if (object instanceof Range) {
    const [from, to] = bounds(object.length, start, stop, step);
    return new Range(object.at(from), object.at(to), object.step * step);
  }
  throw typeError(`${typeName(object)} has no slices`);
}

/** A slice of a constant: Jinja looks it up when it compiles, as it does elements, and finds nothing where it fails. */
export function knownSlice(rendering: Rendering, object: Value, given: readonly Value[]): Value {
  try {
    return slice(rendering, object, given);
  } catch (error) {
    if (!(error instanceof TemplateError) || error.kind !== "TypeError") throw error;
    return new Undefined(`a ${typeName(object)} has no such element`);
  }
}

function sliceText(
  rendering: Rendering,
  value: string | Markup,
  start: number | undefined,
  stop: number | undefined,
  step: number,
): Value {
  const { marks } = rendering;
  const text = textOf(value);
  rendering.budget.scan(text.length);
  if (step === 1) {
    const [from, to] = bounds(marks.length(text), start, stop);
    return rendering.like(value, marks.slice(text, from, to));
  }
  rendering.budget.list(text.length);
  return rendering.like(value, sliced(marks.characters(text), start, stop, step).join(""));
}
