// The contents of a release: the packages of the executable, and the bill of materials that lists them.
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import config from "../../deno.json" with { type: "json" };
import {
  type Lock,
  nameOf,
  programImports,
  prunedLock,
  versionOf,
} from "../../tools/build/packages.ts";
import { billOfMaterials, type Contents } from "../../tools/release/sbom.ts";
import { faultsOf } from "../fixtures/valid_bill.ts";

const LOCK: Lock = JSON.parse(
  await Deno.readTextFile(new URL("../../deno.lock", import.meta.url)),
);
const PRUNED = prunedLock(LOCK, programImports(config.imports));

/** A release of the packages of deno.lock. */
const CONTENTS: Contents = {
  version: config.version,
  commit: "0123456789abcdef0123456789abcdef01234567",
  time: 1_700_000_000,
  files: ["m40", "libm40_cpu.so", "libm40_cuda.so"].map((name) => ({
    name,
    sha256: "ab".repeat(32),
  })),
  packages: Object.entries(PRUNED.npm).map(([key, { integrity }]) => ({
    key,
    name: nameOf(key),
    version: versionOf(key),
    licence: "MIT",
    licenceTexts: [],
    integrity,
  })),
  lock: PRUNED,
  deno: { version: "2.7.11", v8: "14.7" },
  libraries: {
    "libm40_cpu.so": { commit: "", compiler: "g++ 12.2.0", cuda_toolkit: "", architectures: [] },
    "libm40_cuda.so": {
      commit: "",
      compiler: "g++-11 (Debian) 11.3.0",
      cuda_toolkit: "11.8",
      architectures: ["sm_52"],
    },
  },
};

Deno.test("the executable's packages are those that the program needs, and none of the tests'", () => {
  const names = new Set(Object.keys(PRUNED.npm).map(nameOf));
  for (const name of ["hono", "zod", "express", "ajv-formats", "temml"]) assert(names.has(name));
  for (const name of ["openai", "ollama", "fast-check", "playwright-core", "axe-core"]) {
    assert(Object.keys(LOCK.npm).some((key) => nameOf(key) === name), name);
    assert(!names.has(name), name);
  }
  for (const [key, locked] of Object.entries(PRUNED.npm)) assertEquals(locked, LOCK.npm[key]);
  assertThrows(
    () => prunedLock(LOCK, { other: "npm:other@1.0.0" }),
    Error,
    "deno.lock lacks npm:other@1.0.0",
  );
  assertThrows(() => prunedLock({ ...LOCK, version: "6" }, {}), Error, "has version 6, wanted 5");
});

Deno.test("what says how a release is installed names its archive whole, so that one without CUDA next to it does no harm", async () => {
  for (const path of ["docs/install.md", "deploy/container/Containerfile"]) {
    const text = await Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
    const names = text.match(/\bm40-[^\s`/]*linux-x86_64[^\s`/"]*/g) ?? [];
    assert(names.length >= 2, path);
    const name = `m40-${config.version}-linux-x86_64`;
    const known = [name, `${name}.tar.gz`, `${name}-cpu.tar.gz`];
    assertEquals(names.filter((one) => !known.includes(one)), [], path);
    assert(!text.includes("m40-*"), path);
  }
});

Deno.test("the bill of materials is valid CycloneDX 1.6, and the same for the same contents", async () => {
  const bill = await billOfMaterials(CONTENTS);
  assertEquals(await faultsOf(JSON.stringify(bill)), null);
  assertEquals(await billOfMaterials(CONTENTS), bill);
  const { components, dependencies } = bill as {
    components: { "bom-ref": string; type: string; hashes?: { content: string }[] }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const references = components.map((one) => one["bom-ref"]);
  assertEquals(new Set(references).size, references.length);
  for (const { ref, dependsOn } of dependencies) {
    for (const one of [ref, ...dependsOn]) {
      assert(references.includes(one) || one === `m40@${config.version}`, one);
    }
  }
  // Faults that the schema must find.
  components[0].type = "program";
  assert(await faultsOf(JSON.stringify(bill)) !== null);
});

Deno.test("an unreviewed licence stops the release", async () => {
  const [first, ...rest] = CONTENTS.packages;
  for (const licence of ["AGPL-3.0-only", "(MIT OR SSPL-1.0)", "UNLICENSED"]) {
    await assertRejects(
      () => billOfMaterials({ ...CONTENTS, packages: [{ ...first, licence }, ...rest] }),
      Error,
      licence,
    );
  }
  const either = { ...first, licence: "(MIT OR Apache-2.0)" };
  const bill = await billOfMaterials({ ...CONTENTS, packages: [either, ...rest] });
  assertEquals(await faultsOf(JSON.stringify(bill)), null);
});
