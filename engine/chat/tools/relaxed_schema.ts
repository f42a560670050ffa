import { SchemaRefusal } from "../../grammar/json_schema/limits.ts";

/** Keywords that are left out of one schema at most. */
const MOST_LEFT_OUT = 32;

/**
 * Does something with a schema, and where a keyword of it cannot be followed, with the schema without it.
 *
 * @throws {M40Error} "invalid_request" for a schema that is too complex, or wrong in other ways than by a keyword.
 */
export function relaxing<T>(schema: unknown, work: (schema: unknown) => T): T {
  let current = schema;
  for (let leftOut = 0;; leftOut++) {
    try {
      return work(current);
    } catch (error) {
      if (!(error instanceof SchemaRefusal) || error.tooMuch || leftOut >= MOST_LEFT_OUT) {
        throw error;
      }
      const relaxed = leftOut === 0 ? structuredClone(current) : current;
      if (!leaveOut(relaxed, error.place)) throw error;
      current = relaxed;
    }
  }
}

/** Takes what a JSON pointer leads to out of its object; false where it leads to none. */
function leaveOut(schema: unknown, pointer: string): boolean {
  const tokens = pointer.split("/").slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
  const last = tokens.pop();
  let at = schema;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return false;
    at = (at as Record<string, unknown>)[token];
  }
  if (last === undefined || typeof at !== "object" || at === null || Array.isArray(at)) {
    return false;
  }
  return Object.hasOwn(at, last) && delete (at as Record<string, unknown>)[last];
}
