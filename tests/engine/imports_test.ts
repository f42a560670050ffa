import { assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { checkImports, examine } from "../../tools/imports.ts";
import { findCycles, nativeIncludes, typescriptImports } from "../../tools/imports/graph.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

/** A folder with these files, for the time of a test. */
async function withFiles(
  files: Record<string, string>,
  test: (root: string) => Promise<void>,
): Promise<void> {
  using temporary = new TemporaryFolder();
  const root = temporary.path;
  for (const [name, text] of Object.entries(files)) {
    await Deno.mkdir(join(root, name, ".."), { recursive: true });
    await Deno.writeTextFile(join(root, name), text);
  }
  await test(root);
}

Deno.test("no module of the project imports in a cycle or up the house", async () => {
  assertEquals(await checkImports(fromFileUrl(new URL("../..", import.meta.url))), []);
});

Deno.test("a cycle of modules is found, whether by values, by types or by a dynamic import", async () => {
  for (
    const back of [
      `import { a } from "./a.ts"; export const b = () => a;`,
      `import type { A } from "./a.ts"; export type B = A[];`,
      `export const b = () => import("./a.ts");`,
    ]
  ) {
    const files = {
      "engine/json/a.ts": `export const a = 1; export type A = 1; export * from "./b.ts";`,
      "engine/json/b.ts": back,
      "engine/json/c.ts": `export * from "./a.ts";`,
    };
    await withFiles(files, async (root) => {
      const [fault, ...more] = examine(await typescriptImports(root, Object.keys(files)));
      assertEquals(fault, "cycle: engine/json/a.ts -> engine/json/b.ts -> engine/json/a.ts");
      assertEquals(more, []);
    });
  }
});

Deno.test("an import that goes up the house is named with both rooms", async () => {
  const files = {
    "cli/main.ts": "export const cli = 1;",
    "engine/device/open.ts": `export * from "../../cli/main.ts";`,
    "engine/engine.ts": `export * from "./device/open.ts";`,
  };
  await withFiles(files, async (root) => {
    assertEquals(examine(await typescriptImports(root, Object.keys(files))), [
      "engine/device/open.ts imports cli/main.ts: up from engine/device to cli/main.ts",
    ]);
  });
});

Deno.test("an import enters another room by its mod.ts, or lazily", async () => {
  const files = {
    "engine/gguf/mod.ts": `export * from "./reader.ts";`,
    "engine/gguf/reader.ts": "export const gguf = 1;",
    "engine/models/a.ts": `export * from "../gguf/mod.ts";`,
    "engine/models/b.ts": `export const b = () => import("../gguf/reader.ts");`,
    "engine/models/c.ts": `export * from "../gguf/reader.ts";`,
    "engine/models/c_test.ts": `export * from "../gguf/reader.ts";`,
  };
  await withFiles(files, async (root) => {
    assertEquals(examine(await typescriptImports(root, Object.keys(files))), [
      "engine/models/c.ts imports engine/gguf/reader.ts; import it from engine/gguf/mod.ts",
    ]);
  });
});

Deno.test("a file that lies in no room of the house is named", () => {
  const [fault] = examine({ graph: new Map([["attic/box.ts", []]]), lazy: new Set() });
  assertMatch(fault, /^attic\/box\.ts is in no room/);
});

Deno.test("headers that include each other are found, and those that share one are not", async () => {
  const files = {
    "a.h": `#include "b.h"\n#include <stdint.h>\n`,
    "b.h": `#include "sub/c.cuh"\n`,
    "sub/c.cuh": `#include "../b.h"\n`,
    "d.cpp": `#include "a.h"\n#include "sub/c.cuh"\n`,
  };
  await withFiles(files, async (root) => {
    const graph = await nativeIncludes(root, Object.keys(files));
    assertEquals(graph.get("d.cpp"), ["a.h", "sub/c.cuh"]);
    assertEquals(findCycles(graph), [["b.h", "sub/c.cuh"]]);
  });
});
