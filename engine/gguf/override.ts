/** Values of a file's metadata that are given on the command line and replace its own. */
import { M40Error } from "../errors.ts";
import { JsonNumber, parseJson } from "../json/mod.ts";
import { arrayEntry, entry } from "./entries.ts";
import type { Gguf } from "./header.ts";
import { Metadata, type MetadataEntry, quoteKey } from "./metadata.ts";
import type { ValueType } from "./types.ts";
import type { ElementType } from "./values.ts";

/** A type that an override may name, and that of the file's format. */
const TYPES = {
  int: "int64",
  float: "float32",
  bool: "bool",
  string: "string",
  // As llama.cpp calls it.
  str: "string",
  strings: "string",
} as const satisfies Record<string, ValueType>;

/** "strings": an array of them; the others are of one, and of an array where the value begins with "[". */
export type OverrideType = keyof typeof TYPES;

/** A key and the value that it is to have. */
export interface Override {
  readonly key: string;
  /** Absent: the type of the key in the file. */
  readonly type?: OverrideType;
  /** The type where the file has no such key; absent: then it has to be said. */
  readonly fallback?: OverrideType;
  /** Arrays as JSON. */
  readonly value: string;
}

/** What {@link parseOverride} takes, for messages. */
export const OVERRIDE_WANTED =
  "KEY=VALUE, or KEY=TYPE:VALUE with the type int, float, bool, string or strings";

/** Keys that say how the file itself lies: they cannot be otherwise. */
const OF_THE_FILE = /^(general\.alignment$|split\.)/;

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;
const LONGEST = 2 ** 20;

/** An override out of `KEY=VALUE` or `KEY=TYPE:VALUE`; undefined where the text is neither. */
export function parseOverride(text: string): Override | undefined {
  const equals = text.indexOf("=");
  if (equals < 1 || text.length > LONGEST) return undefined;
  const key = text.slice(0, equals);
  const value = text.slice(equals + 1);
  const type = Object.keys(TYPES).find((name) => value.startsWith(`${name}:`));
  if (type === undefined) return { key, value };
  return { key, type: type as OverrideType, value: value.slice(type.length + 1) };
}

/**
 * A header with other values of its keys.
 *
 * @throws {M40Error} "invalid_request" for a value that is not of the key's type, and for a key that the file has
 * not where the type is not said.
 */
export function applyOverrides(gguf: Gguf, overrides: readonly Override[] = []): Gguf {
  if (overrides.length === 0) return gguf;
  const entries = new Map(gguf.metadata.entries());
  for (const override of overrides) {
    entries.set(override.key, valueOf(override, entries.get(override.key)));
  }
  return {
    ...gguf,
    metadata: new Metadata(entries, gguf.path),
    overrides: overrides.map(({ key, type, value }) => `${key}=${type ? `${type}:` : ""}${value}`),
  };
}

function valueOf(override: Override, old: MetadataEntry | undefined): MetadataEntry {
  const { key, value } = override;
  const type = override.type ?? (old === undefined ? override.fallback : undefined);
  if (OF_THE_FILE.test(key)) {
    throw refused(override, "this key says how the file lies on the disk; it cannot be overridden");
  }
  if (type === undefined && old === undefined) {
    throw refused(
      override,
      `the file has no such key, so its type has to be said: --override ${key}=int:…, float:…, bool:…, string:… or strings:[…]`,
    );
  }
  const wanted = type === undefined
    ? old!.type === "array" ? old!.element! : old!.type
    : TYPES[type];
  if (wanted === "array") throw refused(override, "arrays of arrays cannot be overridden");
  const isArray = type === undefined && old!.type === "array" || type === "strings" ||
    wanted !== "string" && value.trimStart().startsWith("[");
  try {
    return isArray
      ? arrayEntry(wanted, listOf(value, wanted))
      : entry(wanted, scalarOf(value, wanted));
  } catch (error) {
    if (!(error instanceof RangeError) && !(error instanceof SyntaxError)) throw error;
    throw refused(override, `wanted ${isArray ? `a JSON array of ${wanted}` : wanted}`);
  }
}

function scalarOf(text: string, type: ElementType): string | number | bigint | boolean {
  if (type === "string") return text;
  if (type === "bool") {
    if (text === "true" || text === "false") return text === "true";
    throw new SyntaxError();
  }
  if (type.startsWith("float")) {
    const number = Number(text);
    const fits = NUMBER.test(text) && Number.isFinite(number) &&
      (type === "float64" || Number.isFinite(Math.fround(number)));
    if (!fits) throw new SyntaxError();
    return type === "float32" ? Math.fround(number) : number;
  }
  if (!/^[+-]?\d{1,20}$/.test(text)) throw new SyntaxError();
  const whole = BigInt(text.replace("+", ""));
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
}

function listOf(text: string, type: ElementType): (string | number | bigint | boolean)[] {
  // With all digits of integers.
  const list = parseJson(text);
  if (!Array.isArray(list)) throw new SyntaxError();
  return list.map((one) => {
    const isOther = typeof one === "object" && !(one instanceof JsonNumber);
    if (isOther || typeof one === "string" && type !== "string") {
      throw new SyntaxError();
    }
    if (type === "string" && typeof one !== "string") throw new SyntaxError();
    return scalarOf(String(one), type);
  });
}

function refused({ key, value }: Override, problem: string): M40Error {
  const shown = value.length > 80 ? `${value.slice(0, 77)}...` : value;
  return new M40Error(
    "invalid_request",
    `--override ${quoteKey(key)}: got ${JSON.stringify(shown)}; ${problem}.`,
    "override",
  );
}
