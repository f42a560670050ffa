/** The regular expressions in the sources, and what they are tried on. */
import { fromFileUrl } from "@std/path";

/** An expression as it stands in a file. */
export interface Expression {
  readonly pattern: string;
  readonly flags: string;
  /** `folder/file.ts:line`. */
  readonly place: string;
}

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** Folders whose code reads what strangers, servers and files say. */
const FOLDERS = ["server", "engine", "mcp", "cli"];

/** All literals of expressions. Works in `deno test` alone, whose linter reads the sources. */
export function expressions(): Expression[] {
  const found: Expression[] = [];
  for (const file of FOLDERS.flatMap((folder) => [...sources(folder)])) {
    const source = Deno.readTextFileSync(ROOT + file);
    const plugin: Deno.lint.Plugin = {
      name: "expressions",
      rules: {
        collect: {
          create: () => ({
            Literal(node) {
              if (!("regex" in node) || !node.regex) return;
              const line = source.slice(0, node.range[0]).split("\n").length;
              const { pattern, flags } = node.regex;
              found.push({ pattern, flags, place: `${file}:${line}` });
            },
          }),
        },
      },
    };
    Deno.lint.runPlugin(plugin, file, source);
  }
  return found;
}

function* sources(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(ROOT + folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* sources(path);
    else if (/\.[jt]s$/.test(name)) yield path;
  }
}

/** What texts repeat that make an expression try again: its own characters, and those of its classes. */
export function repeated({ pattern }: Expression): string[] {
  const own = pattern.replace(/\\[a-zA-Z]/g, "").match(/[\x20-\x7e]/g) ?? [];
  const words = pattern.match(/[A-Za-z]{2,}/g) ?? [];
  return [...new Set([" ", "\t", "\n", "0", "a", "A", "_", "\u00e9", ...own, ...words])];
}
