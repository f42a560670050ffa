/**
 * Checks the house: an import goes down, forms no cycle, and enters another room by its `mod.ts`.
 *
 * `deno run -A tools/imports.ts [FOLDER]`
 *
 * @module
 */
import { fromFileUrl, resolve } from "@std/path";
import {
  findCycles,
  type ImportGraph,
  type Imports,
  nativeIncludes,
  typescriptImports,
} from "./imports/graph.ts";
import { HOUSE, OUTSIDE } from "./imports/rooms.ts";

/** Upward imports that are meant: what a tool builds or measures. */
const MEANT: readonly (readonly [from: string, to: string])[] = [
  ["build_kernels.ts", "tools/build"],
  ["bench/download.ts", "tests/fixtures/fault_server.ts"],
  ["bench/repeated_file.ts", "tests/fixtures/fault_server.ts"],
  ["bench/", "tests/fixtures/fixed_model.ts"],
  ["tools/request_path.ts", "tests/fixtures/fixed_model.ts"],
];

/** The room of a file, by its place in {@link HOUSE}: the longest name that the file lies in; -1 for none. */
function roomOf(file: string): number {
  if (file.endsWith("_test.ts")) return HOUSE.indexOf("tests");
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

/**
 * Whether an import enters a room of folders by anything but its `mod.ts`. A lazy `import()` may: it is there to load
 * less.
 */
function passesDoor(graph: ImportGraph, from: number, to: number, other: string): boolean {
  if (from === to || OUTSIDE.includes(HOUSE[from])) return false;
  const door = `${HOUSE[to]}/mod.ts`;
  return graph.has(door) && other !== door;
}

/** The faults of the imports of TypeScript modules, a line each. */
export function examine({ graph, lazy }: Imports): string[] {
  const faults = cycles(graph);
  for (const [file, named] of graph) {
    const room = roomOf(file);
    if (room < 0) {
      faults.push(`${file} is in no room of the house; add it to tools/imports/rooms.ts`);
    }
    for (const other of named) {
      const to = roomOf(other);
      if (to < room && !isMeant(file, other)) {
        faults.push(`${file} imports ${other}: up from ${HOUSE[room]} to ${HOUSE[to]}`);
      } else if (!lazy.has(`${file} ${other}`) && passesDoor(graph, room, to, other)) {
        faults.push(`${file} imports ${other}; import it from ${HOUSE[to]}/mod.ts`);
      }
    }
  }
  return faults;
}

function cycles(graph: ImportGraph): string[] {
  return findCycles(graph).map((cycle) => `cycle: ${[...cycle, cycle[0]].join(" -> ")}`);
}

/** Checks a tree that git knows. @returns The faults, a line each. */
export async function checkImports(root: string): Promise<string[]> {
  const files = await listFiles(root);
  const typescript = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
  const native = files.filter((file) => /\.(h|cuh|cu|cpp)$/.test(file));
  return [
    ...examine(await typescriptImports(root, typescript)),
    ...cycles(await nativeIncludes(root, native)),
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
