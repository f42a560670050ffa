import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../errors.ts";
import { KernelLibrary } from "./library.ts";
import { ABI_VERSION, OpKind, OPS, STRUCTS } from "./structs.ts";
import { CHANNEL_SYMBOLS, SYMBOLS } from "./symbols.ts";
import { WEIGHT_FIELDS } from "../program/operations.generated.ts";
import { TemporaryFile, TemporaryFolder } from "../../tests/fixtures/temporary.ts";

const HEADER = await Deno.readTextFile(new URL("../../cuda/include/m40.h", import.meta.url));

Deno.test("every struct that crosses has the layout that the library was compiled with", async () => {
  await using library = KernelLibrary.find("cpu");
  const layout = library.layout();
  for (const struct of STRUCTS) {
    const fields = Object.fromEntries(
      Object.entries(struct.fields).map(([name, { offset, bytes }]) => [name, [offset, bytes]]),
    );
    const { bytes, fields: compiled } = layout[struct.name];
    assertEquals({ name: struct.name, bytes: struct.bytes, fields }, {
      name: struct.name,
      bytes,
      fields: compiled,
    });
  }
  assertEquals(Object.keys(layout).sort(), STRUCTS.map((struct) => struct.name).sort());
});

Deno.test("every operation of m40.h is described, and its weights are those that are encoded as such", async () => {
  await using library = KernelLibrary.find("cpu");
  const declared = [...HEADER.matchAll(/^ {2}M40_OP_(\w+) = (\d+),/gm)]
    .map(([, name, kind]) => [name.toLowerCase(), Number(kind)]);
  const structs = [...HEADER.matchAll(/^ {4}m40_op_(\w+) \1;/gm)].map(([, name]) => name);
  assertEquals(Object.fromEntries(declared), OpKind);
  assertEquals(structs, Object.keys(OPS));
  const described = Object.entries(library.layout()).filter(([, { kind }]) => kind !== undefined);
  assertEquals(
    described.map(([name, { kind }]) => [name.replace("m40_op_", ""), kind]),
    declared,
  );
  for (const [name, { fields, roles = {} }] of described) {
    assertEquals(Object.keys(roles), Object.keys(fields));
    const weights = Object.keys(roles).filter((field) =>
      ["vector", "matrix", "experts"].includes(roles[field])
    );
    const op = name.replace("m40_op_", "") as keyof typeof OPS;
    assertEquals(weights, WEIGHT_FIELDS[op] ?? [], name);
  }
});

Deno.test("every function of m40.h is in the symbol table, with as many parameters", () => {
  const declared = new Map(
    [...HEADER.matchAll(/M40_API [\w* ]+?\b(m40_\w+)\(([^)]*)\);/g)].map((
      [, name, parameters],
    ) => [name, parameters === "void" ? 0 : parameters.split(",").length]),
  );
  const bound = Object.entries({ ...SYMBOLS, ...CHANNEL_SYMBOLS }).map(([name, { parameters }]) =>
    [name, parameters.length] as const
  );
  assertEquals(Object.fromEntries(bound), Object.fromEntries(declared));
});

Deno.test("a library of another ABI version is refused by both versions", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const source = join(folder, "other.c");
  const path = join(folder, "libm40_cpu.so");
  await Deno.writeTextFile(source, "unsigned m40_abi_version(void) { return 77; }\n");
  const compiler = Deno.env.get("CC") ?? "gcc";
  const { success } = await new Deno.Command(compiler, {
    args: ["-shared", "-fPIC", source, "-o", path],
  }).output();
  assertEquals(success, true);
  const error = assertThrows(() => KernelLibrary.open(path), M40Error);
  assertMatch(error.message, new RegExp(`ABI version 77.*version ${ABI_VERSION}`));
});

Deno.test("a file that is no library is refused with its path", async () => {
  using temporary = new TemporaryFile(".so");
  const path = temporary.path;
  await Deno.writeTextFile(path, "not a library");
  const error = assertThrows(() => KernelLibrary.open(path), M40Error);
  assertEquals([error.code, error.message.includes(path)], ["unsupported", true]);
});

Deno.test("the library needs no glibc newer than 2.31 and no C++ runtime", async () => {
  const { path, close } = openCpu();
  close();
  const { stdout } = await new Deno.Command("readelf", { args: ["-dV", path] }).output();
  const report = new TextDecoder().decode(stdout);
  const versions = [...report.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  assertEquals(versions.length > 0, true);
  assertEquals(versions.filter((minor) => minor > 31), []);
  const needed = [...report.matchAll(/NEEDED.*\[(.+?)\]/g)].map(([, name]) => name);
  assertEquals(needed.filter((name) => !/^(libc|libm|libpthread|libgcc_s|ld-)/.test(name)), []);
});

function openCpu(): { path: string; close: () => void } {
  const library = KernelLibrary.find("cpu");
  return { path: library.path, close: () => library.close() };
}
