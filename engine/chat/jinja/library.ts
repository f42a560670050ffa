/**
 * The values of `@huggingface/jinja`. The package exports the interpreter, not the classes of its
 * values, so they are taken from values that it makes.
 *
 * @module
 */
import { Environment, Interpreter, parse, tokenize } from "@huggingface/jinja";

export { Environment, Interpreter, parse, tokenize };

/** Any value of a template. */
export type Value = ReturnType<Interpreter["evaluate"]>;
export type StringValue = Extract<Value, { value: string }>;
export type NumberValue = Extract<Value, { value: number }>;
export type BooleanValue = Extract<Value, { value: boolean }>;
export type ListValue = Extract<Value, { value: Value[] }>;
/** What an entry of a mapping is found by. The package knows strings alone; Jinja knows numbers as well. */
export type Key = string | number;
/** A mapping or a namespace. */
export type MapValue = Extract<Value, { value: Map<string, Value> }>;
export type FunctionValue = Extract<
  Value,
  { value: (args: Value[], scope: Environment) => Value }
>;

/** A node of a parsed template. Nodes of one type have the fields that the parser gives them. */
export interface Node {
  readonly type: string;
  // deno-lint-ignore no-explicit-any
  readonly [field: string]: any;
}

type Constructor<T> = new (value?: unknown) => T;

const environment = new Environment();

function classOf<T>(expression: string): Constructor<T> {
  const [node] = parse(tokenize(`{{ ${expression} }}`)).body;
  return new Interpreter(environment).evaluate(node, environment).constructor as Constructor<T>;
}

environment.set("none", null);
environment.set("yes", true);
const StringClass = classOf<StringValue>("'text'");
const IntegerClass = classOf<NumberValue>("1");
const FloatClass = classOf<NumberValue>("1.5");
const BooleanClass = classOf<BooleanValue>("yes");
const NullClass = classOf<Value>("none");
const UndefinedClass = classOf<Value>("missing");
const ListClass = classOf<ListValue>("[]");
const TupleClass = classOf<ListValue>("(1, 2)");
const ObjectClass = classOf<MapValue>("{}");
const NamespaceClass = classOf<MapValue>("namespace()");
const FunctionClass = classOf<FunctionValue>("namespace");

export const NONE: Value = new NullClass(null);
export const UNDEFINED: Value = new UndefinedClass(undefined);
export const TRUE: Value = new BooleanClass(true);
export const FALSE: Value = new BooleanClass(false);

export const isString = (value: unknown): value is StringValue => value instanceof StringClass;
export const isInteger = (value: unknown): value is NumberValue => value instanceof IntegerClass;
export const isFloat = (value: unknown): value is NumberValue => value instanceof FloatClass;
export const isNumber = (value: unknown): value is NumberValue =>
  isInteger(value) || isFloat(value);
export const isBoolean = (value: unknown): value is BooleanValue => value instanceof BooleanClass;
export const isNone = (value: unknown): boolean => value instanceof NullClass;
export const isUndefined = (value: unknown): boolean => value instanceof UndefinedClass;
export const isList = (value: unknown): value is ListValue => value instanceof ListClass;
export const isTuple = (value: unknown): value is ListValue => value instanceof TupleClass;
export const isMapping = (value: unknown): value is MapValue => value instanceof ObjectClass;
export const isNamespace = (value: unknown): value is MapValue => value instanceof NamespaceClass;
export const isFunction = (value: unknown): value is FunctionValue =>
  value instanceof FunctionClass;

/** A string that was counted; see {@link Rendering.string}. */
export const newString = (text: string): StringValue => new StringClass(text);
/**
 * A whole number, which has no -0. One beyond what a double holds in all its digits is a bigint, which the package's
 * own type does not say.
 */
export const newInteger = (value: number | bigint): NumberValue =>
  new IntegerClass(typeof value === "number" ? value + 0 : value);
export const newFloat = (value: number): NumberValue => new FloatClass(value);
export const newBoolean = (value: boolean): Value => value ? TRUE : FALSE;
/** A list that was counted; see {@link Rendering.list}. */
export const newList = (items: Value[]): ListValue => new ListClass(items);
export const newTuple = (items: Value[]): ListValue => new TupleClass(items);
export const newMapping = (entries: Map<Key, Value>): MapValue => new ObjectClass(entries);
export const newNamespace = (entries: Map<Key, Value>): MapValue => new NamespaceClass(entries);

/** A number, or a boolean, which Python counts as one. */
export function numberOf(value: Value): number | undefined {
  if (isNumber(value)) return Number(value.value);
  return isBoolean(value) ? Number(value.value) : undefined;
}

/** The entries of a mapping or a namespace. */
export function mapOf(value: MapValue): Map<Key, Value> {
  // The package knows strings alone as keys, and does nothing with those of mappings made here.
  return value.value as Map<Key, Value>;
}

/** Whether Python takes a value as true. */
export function isTrue(value: Value): boolean {
  return value.__bool__().value;
}

/** What a function or filter was given. */
export class Arguments {
  constructor(
    readonly positional: readonly Value[],
    readonly named: ReadonlyMap<string, Value> = new Map(),
  ) {}

  /** The arguments of a call, as the library gives them: those with names are the last one. */
  static of(args: readonly Value[]): Arguments {
    const last = args.at(-1);
    return last?.type === "KeywordArgumentsValue"
      ? new Arguments(args.slice(0, -1), (last as MapValue).value)
      : new Arguments(args);
  }

  /** An argument by its place or its name. */
  get(place: number, name: string): Value | undefined {
    return this.positional[place] ?? this.named.get(name);
  }

  /** One that has to be a text. */
  text(place: number, name: string): string | undefined;
  text(place: number, name: string, fallback: string): string;
  text(place: number, name: string, fallback?: string): string | undefined {
    const value = this.get(place, name);
    if (value === undefined || isNone(value)) return fallback;
    if (isString(value)) return value.value;
    throw new Error(`${name} must be a string`);
  }

  /** One that has to be a whole number. */
  integer(place: number, name: string, fallback: number): number {
    const value = this.get(place, name);
    if (value === undefined || isNone(value)) return fallback;
    if (isInteger(value)) return value.value;
    throw new Error(`${name} must be a whole number`);
  }

  /** One that is true or not. */
  flag(place: number, name: string, fallback = false): boolean {
    const value = this.get(place, name);
    return value === undefined ? fallback : isTrue(value);
  }
}

/** A function that templates can call. */
export function newFunction(call: (args: Arguments) => Value): FunctionValue {
  return new FunctionClass((args: Value[]) => call(Arguments.of(args)));
}
