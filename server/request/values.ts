/**
 * Values that are checked by hand, of bodies that no schema can describe. Each is named by its place in the body, and
 * each function throws a 400 {@link HttpError} for what it does not want.
 *
 * @module
 */
import { isJsonObject } from "../../engine/json/mod.ts";
import { wrongField } from "./parse_body.ts";

export function stringAt(value: unknown, at: string, wanted = "a string"): string {
  if (typeof value === "string") return value;
  throw wrongField(at, wanted, value);
}

/** A string; null counts as absent. */
export function optionalStringAt(value: unknown, at: string): string | undefined {
  return value == null ? undefined : stringAt(value, at);
}

/** Such as an id, which must not be empty. */
export function nameAt(value: unknown, at: string, wanted = "a string"): string {
  if (value !== "") return stringAt(value, at, wanted);
  throw wrongField(at, wanted, value);
}

export function objectAt(
  value: unknown,
  at: string,
  wanted = "an object",
): Record<string, unknown> {
  if (isJsonObject(value)) return value;
  throw wrongField(at, wanted, value);
}

export function schemaAt(value: unknown, at: string): Record<string, unknown> {
  return objectAt(value, at, "a JSON Schema, which is an object");
}
