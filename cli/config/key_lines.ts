/**
 * The line on which a TOML text says something, so that a message can name it. It reads table headers and the starts of
 * lines only: where a text is written otherwise the nearest thing above is named, or nothing.
 *
 * @param path The names of the tables and the key.
 * @returns From 1; undefined where it is not found.
 */
export function lineOf(text: string, path: readonly string[]): number | undefined {
  let table: string[] = [];
  let best: { line: number; depth: number } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const header = /^\s*\[\[?([^\]]*)\]/.exec(line);
    if (header !== null) table = keysOf(header[1]);
    const key = header === null ? KEY.exec(line) : null;
    const named = key === null ? table : [...table, ...keysOf(key[1])];
    if (header === null && key === null) continue;
    const depth = named.length;
    const fits = depth <= path.length && named.every((name, i) => name === path[i]);
    if (fits && depth > (best?.depth ?? 0)) best = { line: index + 1, depth };
  }
  return best?.line;
}

/** A line that sets a key. */
const KEY = /^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=/;

/** `models."a:b".ctx` as its names. */
function keysOf(dotted: string): string[] {
  const keys = dotted.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g);
  return Array.from(keys, ([, double, single, bare]) => double ?? single ?? bare);
}
