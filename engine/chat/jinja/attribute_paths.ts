import { item } from "./attributes.ts";
import { plainString } from "./escape.ts";
import type { Rendering } from "./rendering.ts";
import { isString, textOf, Undefined, type Value } from "./values.ts";

/** Finds a part of a value, in the notation of filters: `a`, `a.b`, `0`; the value itself for none. */
export type Path = (value: Value) => Value;

/**
 * The path that a filter gets.
 *
 * @param fallback What stands for parts that are not there; absent or None: they stay undefined.
 */
export function pathOf(
  rendering: Rendering,
  path: Value | undefined,
  fallback: Value = null,
): Path {
  const parts = partsOf(rendering, path);
  return (value) => {
    let part = value;
    for (const key of parts) {
      rendering.budget.step();
      part = item(rendering, part, key);
      if (fallback !== null && part instanceof Undefined) part = fallback;
    }
    return part;
  };
}

function partsOf(rendering: Rendering, path: Value | undefined): Value[] {
  if (path === undefined || path === null) return [];
  if (!isString(path)) return [path];
  const names = rendering.marks.plain(textOf(path)).split(".");
  rendering.budget.list(names.length);
  return names.map((name) => /^\p{Nd}+$/u.test(name) ? Number(name) : name);
}

/** The parts by several paths with commas between them, as a list. */
export function pathsOf(rendering: Rendering, path: Value | undefined, change: Path): Path {
  const paths = isString(path)
    ? rendering.marks.plain(textOf(path)).split(",").map((one) => pathOf(rendering, one))
    : [pathOf(rendering, path)];
  return (value) => rendering.list(paths.map((one) => change(one(value))));
}

/** A text in small letters, which order and equality use by default. */
export function ignoringCase(rendering: Rendering, caseSensitive: boolean): Path {
  if (caseSensitive) return (value) => value;
  return (value) =>
    isString(value) ? rendering.string(plainString(rendering, value).toLowerCase()) : value;
}
