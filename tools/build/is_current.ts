/**
 * What need not be compiled again.
 *
 * @module
 */
import { join, resolve } from "@std/path";

/** Whether an object, by its path from `root`, is newer than all that it was made from, and was made by this command. */
export function isCurrent(root: string, object: string, command: string): boolean {
  const path = join(root, object);
  if (readText(path + ".command") !== command) return false;
  const made = modified(path);
  const dependencies = readText(path + ".d");
  if (made === undefined || dependencies === undefined) return false;
  const files = dependencies.replace(/^[^:]*:/, "").replaceAll("\\\n", " ").split(/\s+/);
  return files.filter((file) => file !== "").every((file) => {
    const changed = modified(resolve(root, file));
    return changed !== undefined && changed <= made;
  });
}

export function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

export function exists(path: string): boolean {
  return modified(path) !== undefined;
}

function modified(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch {
    return undefined;
  }
}
