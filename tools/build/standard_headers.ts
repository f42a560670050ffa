/**
 * The standard library's headers, which GCC reads once for all sources: they are most of what a small source costs.
 * Objects get the same bytes as without.
 *
 * @module
 */
import { join } from "@std/path";
import { readText } from "./is_current.ts";

/** What most sources include. */
const HEADERS = [
  ...["math.h", "pthread.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"],
  ...["algorithm", "atomic", "functional", "map", "memory", "stdexcept", "string", "tuple"],
  ...["utility", "vector"],
];

/** Writes the header that includes them into a folder, unless it is there already, and says where: a path from `root`. */
export function writeStandardHeaders(root: string, folder: string): string {
  const path = join(folder, "standard_headers.h");
  const text = HEADERS.map((name) => `#include <${name}>\n`).join("");
  if (readText(join(root, path)) !== text) Deno.writeTextFileSync(join(root, path), text);
  return path;
}
