import { isJsonObject, mapMembers } from "../../json/mod.ts";
import { NAMED } from "./document.ts";

/** Keywords whose value is no schema, though it may look like one. */
const PLAIN: ReadonlySet<string> = new Set(["const", "enum", "default", "examples", "example"]);

/** A schema with keywords. */
export type Schema = Record<string, unknown>;

/** A copy of a schema, with its numbers and the order of its keys. */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  return isJsonObject(value) ? mapMembers(value, copyOf) : value;
}

/** A schema and all in it. */
export function* schemasIn(schema: unknown): Generator<Schema> {
  const open = [schema];
  while (open.length > 0) {
    const one = open.pop();
    if (Array.isArray(one)) {
      for (const inner of one) open.push(inner);
      continue;
    }
    if (!isJsonObject(one)) continue;
    yield one;
    for (const [name, value] of Object.entries(one)) {
      if (PLAIN.has(name)) continue;
      const inner = NAMED.includes(name) && isJsonObject(value) ? Object.values(value) : [value];
      for (const each of inner) open.push(each);
    }
  }
}
