import { type TemplateError, typeError, undefinedError } from "./errors.ts";
import {
  type Args,
  isInteger,
  isString,
  isTrue,
  textOf,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";

/**
 * The arguments of a call, by the names of its parameters; undefined where one is not given.
 *
 * @param required How many have to be given.
 * @throws {TemplateError} For too many, unknown or missing ones.
 */
export function bind(
  name: string,
  { positional, named }: Args,
  parameters: readonly string[],
  required = 0,
): (Value | undefined)[] {
  if (positional.length > parameters.length) {
    throw typeError(
      `${name} takes at most ${parameters.length} arguments, got ${positional.length}`,
    );
  }
  const bound: (Value | undefined)[] = [...positional];
  for (const [key, value] of named) {
    const place = parameters.indexOf(key);
    if (place < 0) throw typeError(`${name} takes no argument "${key}"`);
    if (place < positional.length) throw typeError(`${name} got "${key}" twice`);
    bound[place] = value;
  }
  for (let i = 0; i < required; i++) {
    if (bound[i] === undefined) throw typeError(`${name} wants an argument "${parameters[i]}"`);
  }
  return bound;
}

/** A whole number as an argument; true and false count as 1 and 0. */
export function integer(value: Value | undefined, fallback: number, name: string): number {
  if (value === undefined) return fallback;
  if (typeof value === "number") return value;
  if (typeof value === "boolean") return Number(value);
  if (isInteger(value)) return value > 0n ? Infinity : -Infinity;
  throw typeError(`${name} wants a whole number, got ${typeName(value)}`);
}

/** A string as an argument. */
export function string(value: Value | undefined, name: string): string {
  if (isString(value)) return textOf(value);
  throw typeError(`${name} wants a string, got ${value === undefined ? "none" : typeName(value)}`);
}

/** A value is not what is wanted; one that is not there says so itself. */
export function unfit(name: string, wanted: string, value: Value): TemplateError {
  if (value instanceof Undefined) return undefinedError(value);
  return typeError(`${name} wants ${wanted}, got ${typeName(value)}`);
}

/** The same where a mapping is wanted. */
export function noMapping(value: Value): TemplateError {
  if (value instanceof Undefined) return undefinedError(value);
  return typeError(`${typeName(value)} is no mapping`);
}

/** What is true or not as an argument. */
export function flag(value: Value | undefined, fallback = false): boolean {
  return value === undefined ? fallback : isTrue(value);
}
