/**
 * What dialects share that have a call's arguments as objects; the engine has them as texts.
 *
 * @module
 */
import { parseJson } from "../../engine/json/mod.ts";
import { wrongField } from "./parse_body.ts";

/**
 * The text of a call's arguments. A model has written them: nothing, a text or a list is shown as it is.
 *
 * @param at Where they stand in the body.
 * @throws {HttpError} 400 for what is nested beyond all measure.
 */
export function argumentsText(value: unknown, at: string): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value);
  } catch {
    throw wrongField(at, "an object that is not nested that deeply", value);
  }
}

/** The arguments of a call out of its text; undefined where that is not whole, as of an answer that was cut. */
export function wholeArguments(text: string): Record<string, unknown> | undefined {
  try {
    return parseJson(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
