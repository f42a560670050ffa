/**
 * Checks that calls go down the house only: fails on modules that import each other in a circle, and on
 * an import that goes up.
 *
 * `deno run -A tools/imports.ts [FOLDER]`
 *
 * @module
 */
import { fromFileUrl, resolve } from "@std/path";
import {
  findCycles,
  type ImportGraph,
  nativeIncludes,
  typescriptImports,
} from "./imports/graph.ts";

/** The rooms of the house from the roof down: a module imports from its own room and those below. */
export const HOUSE: readonly string[] = [
  "tests",
  "bench",
  "tools",
  "build_kernels.ts",
  "main.ts",
  "cli",
  "server",
  "mcp",
  "engine",
  "engine/chat",
  "engine/store",
  "engine/grammar",
  "engine/scheduler",
  "engine/disk_cache",
  "engine/sampling",
  "engine/models",
  "engine/program",
  "engine/tokenizer",
  "engine/gguf",
  "engine/device",
  "engine/json",
  "engine/printable.ts",
  "engine/system_error.ts",
  "engine/turns.ts",
  "engine/errors.ts",
  "types",
  "deno.json",
];

/** Upward arrows that are meant: what is built by a tool, or measured by one. */
const MEANT: readonly (readonly [from: string, to: string])[] = [
  ["build_kernels.ts", "tools/build"],
  ["bench/download.ts", "tests/fault_server.ts"],
  ["bench/repeated_file.ts", "tests/fault_server.ts"],
];

/** The room of a file: the longest name in the house that it lies in; -1 where there is none. */
function roomOf(file: string): number {
  let room = -1;
  for (const [i, name] of HOUSE.entries()) {
    const inside = file === name || file.startsWith(name + "/");
    if (inside && (room < 0 || name.length > HOUSE[room].length)) room = i;
  }
  return room;
}

function isMeant(from: string, to: string): boolean {
  return MEANT.some(([a, b]) => from.startsWith(a) && to.startsWith(b));
}

/** What is wrong with the imports of TypeScript modules, a line each. */
export function examine(graph: ImportGraph): string[] {
  const faults = circles(graph);
  for (const [file, named] of graph) {
    const room = roomOf(file);
    if (room < 0) faults.push(`${file} is in no room of the house; add it to tools/imports.ts`);
    for (const other of named) {
      if (roomOf(other) < room && !isMeant(file, other)) {
        faults.push(`${file} imports ${other}: up from ${HOUSE[room]} to ${HOUSE[roomOf(other)]}`);
      }
    }
  }
  return faults;
}

function circles(graph: ImportGraph): string[] {
  return findCycles(graph).map((cycle) => `circle: ${[...cycle, cycle[0]].join(" -> ")}`);
}

/** Checks a tree that git knows. @returns What is wrong, a line each. */
export async function checkImports(root: string): Promise<string[]> {
  const files = await listFiles(root);
  const typescript = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
  const native = files.filter((file) => /\.(h|cuh|cu|cpp)$/.test(file));
  return [
    ...examine(await typescriptImports(root, typescript)),
    ...circles(await nativeIncludes(root, native)),
  ];
}

/** The files of the tree that git has or would take. */
async function listFiles(root: string): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", {
    args: ["-C", root, "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
  }).output();
  if (!success) throw new Error(`git ls-files failed: ${new TextDecoder().decode(stderr).trim()}`);
  return new TextDecoder().decode(stdout).split("\0").filter((file) => file !== "");
}

if (import.meta.main) {
  const root = Deno.args[0] ?? fromFileUrl(new URL("..", import.meta.url));
  const faults = await checkImports(resolve(root));
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) Deno.exit(1);
}
