import { printable, shortestFloat32 } from "../terminal/mod.ts";
import { type MetadataEntry, NestedArray } from "../../engine/gguf/mod.ts";

/** Elements of an array that are shown. */
const SHOWN_ELEMENTS = 6;
/** Characters of a text that are shown. */
const SHOWN_CHARACTERS = 200;

/** On one line, and safe for a terminal. */
export function flat(text: string): string {
  return printable(text.replaceAll("\n", "\\n").replaceAll("\t", "\\t"));
}

/** A value in a few words: of an array the first elements. */
export function showValue(entry: MetadataEntry): string {
  const { value } = entry;
  if (typeof value === "string") return flat(shorten(JSON.stringify(value)));
  if (typeof value !== "object") return scalar(value, entry.type);
  const elements = value instanceof NestedArray
    ? value.items.slice(0, SHOWN_ELEMENTS).map(showValue)
    : shownElements(value).map((element) =>
      typeof element === "string"
        ? flat(shorten(JSON.stringify(element)))
        : scalar(element, entry.element)
    );
  return `[${elements.join(", ")}${value.length > elements.length ? ", …" : ""}]`;
}

function scalar(value: unknown, type?: string): string {
  return type === "float32" && Number.isFinite(value)
    ? shortestFloat32(value as number)
    : String(value);
}

type ArrayValue = Exclude<Extract<MetadataEntry["value"], object>, NestedArray>;

/** The first elements of an array; strings are decoded one by one, so that long arrays cost nothing. */
function shownElements(value: ArrayValue): unknown[] {
  const count = Math.min(value.length, SHOWN_ELEMENTS);
  return Array.from(
    { length: count },
    (_, i) => "bytes" in value ? value.at(i) : (value as ArrayLike<unknown>)[i],
  );
}

function shorten(text: string): string {
  return text.length > SHOWN_CHARACTERS ? text.slice(0, SHOWN_CHARACTERS - 1) + "…" : text;
}

/** Values as JSON has them; of long arrays the length and the first elements, beyond 2^53 a string. */
export function jsonValue({ value, element }: MetadataEntry): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object") return value;
  const first = value instanceof NestedArray
    ? value.items.slice(0, SHOWN_ELEMENTS).map(jsonValue)
    : shownElements(value).map((item) => typeof item === "bigint" ? String(item) : item);
  return value.length > first.length ? { type: element, length: value.length, first } : first;
}
