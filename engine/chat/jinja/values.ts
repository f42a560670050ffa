/**
 * The values of templates, as Python has them. A string is JavaScript's, a whole number is a `number` where that is
 * exact and a `bigint` beyond, `null` is None, an array is a list. The rest has classes of its own, so that no name
 * leads to what JavaScript's objects have inside.
 *
 * @module
 */

export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Markup
  | Float
  | Undefined
  | Value[]
  | Tuple
  | Dict
  | Thing;

/** A text that is safe as HTML, as `|safe` and `|escape` give it: it escapes what joins it. */
export class Markup {
  constructor(readonly text: string) {}
}

/** A number with a fraction, distinct from whole ones: Python prints 1.0. */
export class Float {
  constructor(readonly value: number) {}
}

/** What is not there. What asks more of it fails with its message. */
export class Undefined {
  constructor(readonly message: string) {}
}

/** A tuple; those of `groupby` have names for their two elements. */
export class Tuple {
  constructor(readonly items: readonly Value[], readonly named = false) {}
}

/** What an entry of a mapping is found by: equal keys have the same one. */
export type Hash = unknown;

/** A mapping in the order of its entries. */
export class Dict {
  private readonly values = new Map<Hash, Value>();
  /** Keys that differ from what they are found by. */
  private readonly keys = new Map<Hash, Value>();

  /** A mapping with names as its keys. */
  static of(entries: Iterable<[string, Value]>): Dict {
    const dict = new Dict();
    for (const [name, value] of entries) dict.set(name, name, value);
    return dict;
  }

  get size(): number {
    return this.values.size;
  }

  get(hash: Hash): Value | undefined {
    return this.values.get(hash);
  }

  has(hash: Hash): boolean {
    return this.values.has(hash);
  }

  /** Sets an entry. As in Python, the key that is there stays. */
  set(hash: Hash, key: Value, value: Value): void {
    if (key !== hash && !this.values.has(hash)) this.keys.set(hash, key);
    this.values.set(hash, value);
  }

  /** The keys with their hashes. */
  *hashes(): Generator<[Hash, Value]> {
    for (const hash of this.values.keys()) yield [hash, this.key(hash)];
  }

  *entries(): Generator<[Value, Value]> {
    for (const [hash, value] of this.values) yield [this.key(hash), value];
  }

  private key(hash: Hash): Value {
    if (this.keys.size === 0) return hash as Value;
    const key = this.keys.get(hash);
    return key === undefined ? hash as Value : key;
  }
}

/** Values that are neither data nor text: they are equal to themselves alone. */
export abstract class Thing {
  /** The name of its type, as Python has it. */
  abstract readonly type: string;
}

/** What a mapping's `items()`, `keys()` and `values()` give. */
export class DictView extends Thing {
  readonly type: string;
  constructor(readonly dict: Dict, readonly kind: "items" | "keys" | "values") {
    super();
    this.type = `dict_${kind}`;
  }
}

/** What `range` gives. */
export class Range extends Thing {
  readonly type = "range";
  readonly length: number;
  constructor(readonly start: number, readonly stop: number, readonly step: number) {
    super();
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(place: number): number {
    return this.start + place * this.step;
  }
}

/** What can be gone over once, such as what `map` gives. */
export class Once extends Thing implements IterableIterator<Value> {
  constructor(private readonly iterator: Iterator<Value>, readonly type = "generator") {
    super();
  }

  next(): IteratorResult<Value> {
    return this.iterator.next();
  }

  [Symbol.iterator](): IterableIterator<Value> {
    return this;
  }
}

/** What a `namespace(…)` holds. */
export class Namespace extends Thing {
  readonly type = "Namespace";
  constructor(readonly attributes: Dict) {
    super();
  }
}

export class Args {
  constructor(
    readonly positional: readonly Value[] = [],
    readonly named: ReadonlyMap<string, Value> = NONE_NAMED,
  ) {}
}

const NONE_NAMED: ReadonlyMap<string, Value> = new Map();
export const NO_ARGS = new Args();

export abstract class Callable extends Thing {
  abstract call(args: Args): Value;
}

/** A function or a method bound to its value. */
export class Func extends Callable {
  readonly type = "function";
  constructor(readonly name: string, private readonly work: (args: Args) => Value) {
    super();
  }

  call(args: Args): Value {
    return this.work(args);
  }
}

/** A thing with attributes of its own. */
export abstract class Attributed extends Callable {
  /** An attribute; undefined where there is none of that name. */
  abstract attribute(name: string): Value | undefined;
  /** As Python writes it; absent: with its address, so that it cannot be written. */
  text?(): string;
}

export const isString = (value: Value | undefined): value is string | Markup =>
  typeof value === "string" || value instanceof Markup;

/** Whether a value is a whole number; Python counts true and false as such, this does not. */
export const isInteger = (value: Value | undefined): value is number | bigint =>
  typeof value === "number" || typeof value === "bigint";

/** The characters of a string. */
export const textOf = (value: string | Markup): string =>
  typeof value === "string" ? value : value.text;

/** Whether Python takes a value as true. */
export function isTrue(value: Value): boolean {
  if (typeof value !== "object") return Boolean(value);
  if (value === null || value instanceof Undefined) return false;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof Markup) return value.text !== "";
  if (value instanceof Float) return value.value !== 0;
  if (value instanceof Tuple) return value.items.length > 0;
  if (value instanceof DictView) return value.dict.size > 0;
  if (value instanceof Range) return value.length > 0;
  return true;
}

/** The name of a value's type, as Python has it. */
export function typeName(value: Value): string {
  if (value === null) return "None";
  if (typeof value === "string") return "str";
  if (typeof value === "boolean") return "bool";
  if (isInteger(value)) return "int";
  if (value instanceof Float) return "float";
  if (Array.isArray(value)) return "list";
  if (value instanceof Dict) return "dict";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Markup) return "Markup";
  if (value instanceof Undefined) return "undefined";
  return value.type;
}
