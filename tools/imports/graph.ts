/**
 * Which modules import which: TypeScript's modules as Deno resolves them (types and dynamic imports included), and
 * the native sources' `#include "…"`.
 *
 * @module
 */
import { dirname, join, relative, toFileUrl } from "@std/path";

/** For each file, by its path from the root, the files of the same tree that it names. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The imports of TypeScript modules. */
export interface Imports {
  readonly graph: ImportGraph;
  /** Those that are only made by a call of `import()`: "FROM TO". */
  readonly lazy: ReadonlySet<string>;
}

/** What `deno info --json` says of a module; only what is read here. */
interface DenoModule {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier?: string };
    readonly type?: { readonly specifier?: string };
  }[];
}

/**
 * The imports of TypeScript modules.
 *
 * @param root The tree's folder; imports that leave it are left out.
 * @param files Paths from the root.
 * @throws {Error} Where Deno cannot read the modules, with its words.
 */
export async function typescriptImports(
  root: string,
  files: readonly string[],
): Promise<Imports> {
  const folder = await Deno.makeTempDir();
  try {
    // `deno info` takes one module: this one imports them all.
    const all = join(folder, "all.ts");
    const lines = files.map((file) =>
      `import ${JSON.stringify(toFileUrl(join(root, file)).href)};`
    );
    await Deno.writeTextFile(all, lines.join("\n"));
    const config = join(root, "deno.json");
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", ...(exists(config) ? ["--config", config] : ["--no-config"]), all],
    }).output();
    if (!success) throw new Error(`deno info failed: ${new TextDecoder().decode(stderr).trim()}`);
    const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as { modules: DenoModule[] };
    return graphOf(modules, root);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function graphOf(modules: readonly DenoModule[], root: string): Imports {
  const prefix = toFileUrl(root).href.replace(/\/?$/, "/");
  const inside = (specifier: string | undefined) =>
    specifier?.startsWith(prefix) ? decodeURI(specifier.slice(prefix.length)) : undefined;
  const graph = new Map<string, string[]>();
  const lazy = new Set<string>();
  for (const { specifier, dependencies = [] } of modules) {
    const file = inside(specifier);
    if (file === undefined) continue;
    const named = new Set<string>();
    for (const { code, type, isDynamic } of dependencies) {
      for (const one of [inside(code?.specifier), inside(type?.specifier)]) {
        if (one === undefined) continue;
        named.add(one);
        if (isDynamic) lazy.add(`${file} ${one}`);
      }
    }
    graph.set(file, [...named]);
  }
  return { graph, lazy };
}

/**
 * The includes of C++ and CUDA sources.
 *
 * @param root The tree's folder.
 * @param files Paths from the root.
 */
export async function nativeIncludes(root: string, files: readonly string[]): Promise<ImportGraph> {
  const known = new Set(files);
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const text = await Deno.readTextFile(join(root, file));
    const named = [...text.matchAll(/^#include "([^"]+)"/gm)].map(([, name]) =>
      relative(root, join(root, dirname(file), name))
    );
    graph.set(file, named.filter((one) => known.has(one)));
  }
  return graph;
}

/** The files of each cycle, in the order in which they name each other; one cycle a knot of files. */
export function findCycles(graph: ImportGraph): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string) => {
    const at = path.indexOf(file);
    if (at >= 0) cycles.push(path.slice(at));
    if (at >= 0 || done.has(file)) return;
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    done.add(file);
  };
  for (const file of [...graph.keys()].sort()) visit(file);
  return cycles;
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
