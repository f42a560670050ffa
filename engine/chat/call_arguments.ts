import { isJsonObject, type JsonLimits, parseWhole } from "../json/mod.ts";

/** The key by which arguments that are no JSON object are shown to a template that wants an object. */
const UNREADABLE = "invalid_json";

/** More is not read, but shown as its text: reading it would delay others, and no model writes that many. */
const LIMITS: JsonLimits = { values: 200_000, members: 65_536, exactValues: 50_000, lost: 16_384 };

/** What the text of a call's arguments says. */
export interface CallArguments {
  /** An object, whatever the text is. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Whether the text is that of an object, or says nothing. */
  readonly readable: boolean;
}

/**
 * The arguments of a call in a conversation. A model has written them, perhaps another one, perhaps one that was cut:
 * what is no object is kept as its text.
 */
export function callArguments(text: string): CallArguments {
  if (text.trim() === "") return { value: {}, readable: true };
  let value: unknown;
  try {
    value = parseWhole(text, LIMITS).value;
  } catch {
    return unreadable(text);
  }
  // What models write for no arguments.
  if (value === null || (Array.isArray(value) && value.length === 0)) {
    return { value: {}, readable: true };
  }
  return isJsonObject(value) ? { value, readable: true } : unreadable(text);
}

function unreadable(text: string): CallArguments {
  return { value: { [UNREADABLE]: text }, readable: false };
}
