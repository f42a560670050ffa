import type { Option } from "../arguments/mod.ts";
import type { Override } from "../../engine/gguf/mod.ts";
import type { ConfigReader } from "./config_reader.ts";

/** Arrays of a table at most, and tables in each other, so that none is walked through for ever. */
const MOST_DEPTH = 16;

/**
 * A model's table of overrides of its file's metadata: a list as on the command line, or a table of keys and values. A
 * dot in an unquoted name makes nested tables.
 *
 * @param value What stands there.
 * @throws {M40Error} "invalid_request" for what is neither.
 */
export function readOverrides(
  reader: ConfigReader,
  value: unknown,
  option: Option<readonly Override[]>,
  at: readonly string[],
): readonly Override[] {
  const isTable = typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof Date);
  if (isTable) return ofTable(reader, value as Record<string, unknown>, "", [...at, "override"]);
  return reader.options({ override: value }, { override: option }, at).override ?? [];
}

function ofTable(
  reader: ConfigReader,
  table: Readonly<Record<string, unknown>>,
  prefix: string,
  at: readonly string[],
): Override[] {
  return Object.entries(table).flatMap(([name, value]) => {
    const key = prefix + name;
    const place = [...at, name];
    switch (typeof value) {
      case "string":
        return [{ key, fallback: "string" as const, value }];
      case "boolean":
        return [{ key, fallback: "bool" as const, value: String(value) }];
      case "number":
        reader.exact(value, place);
        return [{ key, fallback: numberType([value]), value: numberText(value) }];
    }
    if (Array.isArray(value)) return [ofList(reader, key, value, place)];
    if (value === null || value instanceof Date || place.length > at.length + MOST_DEPTH) {
      throw reader.error(place, "wanted a text, a number, true or false, or a list of such");
    }
    return ofTable(reader, value as Record<string, unknown>, `${key}.`, place);
  });
}

function ofList(
  reader: ConfigReader,
  key: string,
  list: readonly unknown[],
  at: readonly string[],
): Override {
  const types = new Set(list.map((one) => typeof one));
  const [type] = types;
  if (types.size > 1 || (type === "object")) {
    throw reader.error(at, "wanted a list of texts, of numbers, or of true and false");
  }
  if (type === "string") return { key, fallback: "strings", value: JSON.stringify(list) };
  if (type === "boolean") return { key, fallback: "bool", value: JSON.stringify(list) };
  const numbers = list as readonly number[];
  for (const number of numbers) reader.exact(number, at);
  return { key, fallback: numberType(numbers), value: `[${numbers.map(numberText).join(",")}]` };
}

function numberType(numbers: readonly number[]): "int" | "float" {
  return numbers.every(Number.isSafeInteger) ? "int" : "float";
}

/** A number as an override has it. */
function numberText(number: number): string {
  return Number.isSafeInteger(number) ? number.toFixed(0) : String(number);
}
