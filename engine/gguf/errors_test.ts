import { assertEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../errors.ts";
import { parseGguf, readGguf } from "./reader.ts";
import type { NestedArray } from "./metadata.ts";
import type { StringArray } from "./string_array.ts";
import { changed, goldenHeader, read } from "../../tests/fixtures/changed_model.ts";
import { GgufBytes } from "../../tests/fixtures/gguf_bytes.ts";

const HUGE = 2n ** 60n;
const gguf = () => new GgufBytes();

/** Each damaged file with what its error must say. */
const cases: [name: string, bytes: Uint8Array, ...messages: string[]][] = [
  ["an empty file", new Uint8Array(0), "empty"],
  ["a text file", gguf().text("hello, world").build(), "not a GGUF file", "68 65 6c 6c", "GGUF"],
  ["a web page", gguf().text("<!DOCTYPE html>").build(), "web page"],
  ["a Git LFS pointer", gguf().text("version https://git-lfs").build(), "git lfs pull"],
  ["an older GGML file", gguf().text("tjgg").u32(1).build(), "ggjt", "convert"],
  ["a file of two bytes", gguf().text("GG").build(), "not a GGUF file"],
  ["a magic and nothing else", gguf().text("GGUF").build(), "the version", "truncated"],
  ["version 0", gguf().start(0, 0, 0).build(), "version 0", "2 and 3"],
  ["version 1", gguf().start(0, 0, 1).build(), "version 1", "obsolete"],
  ["a version of the future", gguf().start(0, 0, 4).build(), "version 4", "2 and 3", "newer"],
  ["a big-endian file", gguf().start(0, 0, 0x03000000).build(), "big-endian", "version 3"],
  ["2^60 tensors", gguf().start(HUGE, 0).build(), "number of tensors", `${HUGE}`],
  ["2^40 tensors", gguf().start(2 ** 40, 0).build(), `promises ${2 ** 40} tensors`],
  ["2^60 keys", gguf().start(0, HUGE).build(), "number of key-value pairs", `${HUGE}`],
  ["more keys than there is room for", gguf().start(0, 2).u64(0).build(), "2 key-value pairs"],
  [
    "a string longer than the file",
    gguf().start(0, 1).string("general.name").u32(8).string("abc", 1000).build(),
    '"general.name"',
    "1000 bytes",
    "only 3",
  ],
  [
    "a string of 2^63 bytes",
    gguf().start(0, 1).string("general.name").u32(8).string("abc", 2n ** 63n).build(),
    '"general.name"',
    `${2n ** 63n}`,
  ],
  [
    "a key longer than the file",
    gguf().start(0, 1).string("general.name", 60000).u32(8).string("a").build(),
    "key 1 of 1 needs 60000 bytes",
  ],
  ["an empty key", gguf().start(0, 1).string("").u32(0).raw(1).u64(0).build(), "key 1 of 1", "0"],
  [
    "a key that is not UTF-8",
    gguf().start(0, 1).u64(2).raw(0xff, 0xfe).u32(0).raw(1).build(),
    "key 1 of 1 is not UTF-8",
  ],
  [
    "an array longer than the file",
    gguf().start(0, 1).string("x").u32(9).u32(4).u64(100).u32(1).build(),
    '"x"',
    "array of 100 uint32",
    "only 4 bytes",
  ],
  [
    "an array of 2^50 strings",
    gguf().start(0, 1).string("x").u32(9).u32(8).u64(2 ** 50).string("a").build(),
    `array of ${2 ** 50} string`,
  ],
  [
    "an array whose third string is cut off",
    gguf().start(0, 1).string("x").u32(9).u32(8).u64(3).string("abcdefgh").string("b").string(
      "cdefgh",
      7,
    ).build(),
    '"x"',
    "string of 7 bytes",
    "only 6",
  ],
  [
    "arrays within arrays five deep",
    gguf().start(0, 1).string("x").u32(9).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1).u32(9).u64(1)
      .u32(4).u64(0).u64(0).build(),
    '"x"',
    "deeper than 4",
  ],
  [
    "an array of more arrays than there is room for",
    gguf().start(0, 1).string("x").u32(9).u32(9).u64(2 ** 40).u32(4).u64(0).build(),
    '"x"',
    `array of ${2 ** 40} array`,
  ],
  [
    "an unknown value type",
    gguf().start(0, 1).string("x").u32(13).u64(1).build(),
    '"x"',
    "value type 13",
    "12 (float64)",
  ],
  ["a bool of 2", gguf().start(0, 1).string("x").u32(7).raw(2).build(), '"x"', "wanted 0 or 1"],
  [
    "a key that appears twice",
    gguf().start(0, 2).string("x").u32(7).raw(1).string("x").u32(7).raw(1).build(),
    '"x" appears twice',
  ],
  ...[0, 3, 24, 2 ** 31].map((alignment): [string, Uint8Array, ...string[]] => [
    `an alignment of ${alignment}`,
    gguf().start(0, 1).string("general.alignment").u32(4).u32(alignment).build(),
    "general.alignment",
    `got ${alignment}`,
    "power of two",
  ]),
  [
    "an alignment that is text",
    gguf().start(0, 1).string("general.alignment").u32(8).string("32").build(),
    "general.alignment",
    'string "32"',
  ],
  [
    "a tensor of no dimensions",
    gguf().start(1).tensor("t", []).data(64).build(),
    '"t"',
    "0 dimensions",
  ],
  [
    "a tensor of five dimensions",
    gguf().start(1).tensor("t", [1, 1, 1, 1, 1]).data(64).build(),
    "5 dimensions",
    "1 to 4",
  ],
  [
    "a tensor of 2^32 - 1 dimensions",
    gguf().start(1).string("t").u32(2 ** 32 - 1).data(64).build(),
    "4294967295 dimensions",
  ],
  [
    "a dimension of 2^60",
    gguf().start(1).tensor("t", [HUGE]).data(64).build(),
    "dimension 1",
    `${HUGE}`,
  ],
  [
    "a shape whose product overflows",
    gguf().start(1).tensor("t", [2 ** 30, 2 ** 30, 2 ** 30]).data(64).build(),
    "more weights than can be counted",
  ],
  [
    "a shape that wraps to a small number in 64 bits",
    gguf().start(1).tensor("t", [2 ** 32, 2 ** 32]).data(64).build(),
    "more weights than can be counted",
  ],
  [
    "a shape whose bytes overflow",
    gguf().start(1).tensor("t", [2 ** 52]).data(64).build(),
    "more bytes than can be counted",
  ],
  [
    "rows that are not whole blocks",
    gguf().start(1).tensor("t", [100, 256], { type: 12 }).data(64).build(),
    "rows of 100",
    "256",
    "Q4_K",
  ],
  [
    "rows that are not whole blocks of 64",
    gguf().start(1).tensor("t", [96, 64], { type: 40 }).data(64).build(),
    "rows of 96",
    "64",
    "NVFP4",
  ],
  [
    "an unknown tensor type",
    gguf().start(1).tensor("t", [32], { type: 1000 }).data(64).build(),
    '"t"',
    "number 1000",
    "Take another quantisation",
    "Q4_K_M",
  ],
  [
    "a withdrawn tensor type",
    gguf().start(1).tensor("t", [32], { type: 4 }).data(64).build(),
    "Q4_2",
    "withdrawn",
  ],
  [
    "a tensor type that m40 does not compute with",
    gguf().start(1).tensor("t", [256], { type: 41 }).data(128).build(),
    "Q1_0",
    "does not support",
    "Q4_K",
  ],
  [
    "a tensor that appears twice",
    gguf().start(2).tensor("t", [8]).tensor("t", [8], { offset: 32 }).data(64).build(),
    'tensor "t" appears twice',
  ],
  [
    "a tensor off the alignment",
    gguf().start(1).tensor("t", [8], { offset: 4 }).data(64).build(),
    '"t"',
    "4 bytes into the data",
    "alignment, 32",
  ],
  [
    "a tensor outside of the file",
    gguf().start(1).tensor("t", [8], { offset: 64 }).data(64).build(),
    '"t"',
    "outside of the file",
    "truncated",
  ],
  [
    "a tensor longer than the file",
    gguf().start(1).tensor("t", [17]).data(64).build(),
    "68 bytes",
    "outside of the file",
  ],
  [
    "a tensor offset of 2^60",
    gguf().start(1).tensor("t", [8], { offset: HUGE }).data(64).build(),
    'offset of tensor "t"',
    `${HUGE}`,
  ],
  [
    "a tensor offset that no file reaches",
    gguf().start(1).tensor("t", [8], { offset: 2 ** 52 }).data(64).build(),
    "outside of the file",
  ],
  [
    "tensors that overlap",
    gguf().start(2).tensor("a", [16]).tensor("b", [8], { offset: 32 }).data(64).build(),
    '"a" and "b" overlap',
  ],
];

for (const [name, bytes, ...messages] of cases) {
  Deno.test(`GGUF: ${name} is refused with its reason`, () => {
    const error = assertThrows(() => parseGguf(bytes, "some.gguf"), M40Error);
    assertEquals(error.code, "invalid_model");
    assertStringIncludes(error.message, "some.gguf: ");
    for (const message of messages) assertStringIncludes(error.message, message);
  });
}

Deno.test("GGUF: a tensor of a known but unsupported type can be looked at when asked for", () => {
  const bytes = gguf().start(1).tensor("t", [256], { type: 17 }).data(128).build();
  const { tensors } = parseGguf(bytes, "some.gguf", { anyType: true });
  assertEquals(tensors.get("t")?.type.name, "IQ2_XS");
  assertEquals(tensors.get("t")?.bytes, 74);
});

Deno.test("GGUF: a file that is not there, and a folder, are refused by name", async () => {
  const missing = await assertRejects(() => readGguf("no/such/model.gguf"), M40Error);
  assertEquals(missing.code, "model_not_found");
  assertStringIncludes(missing.message, "no/such/model.gguf");
  const folder = await assertRejects(() => readGguf("."), M40Error);
  assertEquals(folder.code, "invalid_model");
  assertStringIncludes(folder.message, "not a file");
});

Deno.test("GGUF: a real file cut at any byte of its header is refused as truncated", async () => {
  const whole = await Deno.readFile(new URL("../../tests/data/golden/llama.gguf", import.meta.url));
  const { dataOffset } = parseGguf(whole, "whole.gguf");
  for (let length = 4; length <= dataOffset; length++) {
    const cut = whole.subarray(0, length);
    const error = assertThrows(() => parseGguf(cut, "cut.gguf"), M40Error);
    assertEquals(error.code, "invalid_model");
    assertStringIncludes(error.message, "truncated", `cut at ${length}`);
  }
});

Deno.test("GGUF: a real file that lacks its last byte is refused as truncated", async () => {
  const whole = await Deno.readFile(new URL("../../tests/data/golden/llama.gguf", import.meta.url));
  const { tensors } = parseGguf(whole, "whole.gguf");
  const end = Math.max(...[...tensors.values()].map(({ offset, bytes }) => offset + bytes));
  assertEquals(parseGguf(whole.subarray(0, end), "exact.gguf").tensors.size, tensors.size);
  const error = assertThrows(() => parseGguf(whole.subarray(0, end - 1), "cut.gguf"), M40Error);
  assertStringIncludes(error.message, "truncated");
});

Deno.test("GGUF: types that m40 does not know, and blocks of other sizes, can be looked at when asked for", () => {
  // 128 weights a block in 34 bytes, as a fork has the type that is 64 in 18 bytes elsewhere.
  const bytes = gguf().start(3)
    .tensor("fork", [128, 16], { type: 42 })
    .tensor("unknown", [128], { type: 142, offset: 544 })
    .tensor("plain", [8], { offset: 576 })
    .data(608).build();
  const { tensors } = parseGguf(bytes, "some.gguf", { anyType: true });
  assertEquals(
    [...tensors.values()].map(({ type, bytes }) => [type.name, bytes]),
    [["Q2_0", 544], ["type 142", 32], ["F32", 32]],
  );
  assertThrows(() => parseGguf(bytes, "some.gguf"), M40Error, "Q2_0");
});

Deno.test("GGUF: a tensor of no elements is read, and refused only by a model that needs it", async () => {
  const bytes = gguf().start(2).tensor("t", [4, 0]).tensor("u", [8]).data(64).build();
  const { tensors } = parseGguf(bytes, "some.gguf");
  assertEquals([...tensors.values()].map(({ bytes }) => bytes), [0, 32]);
  const golden = await goldenHeader("llama");
  const unneeded = changed(golden, { tensors: { "v.nothing": [0] } });
  assertEquals(read(unneeded).shape, read(golden).shape);
  const needed = changed(golden, { tensors: { "output_norm.weight": [0] } });
  assertThrows(() => read(needed), M40Error, "output_norm.weight is [0], which holds nothing");
});

Deno.test("GGUF: arrays of arrays are read, and no key that wants numbers takes one", () => {
  const bytes = gguf().start(0, 2)
    .string("x").u32(9).u32(9).u64(2).u32(4).u64(2).u32(7).u32(8).u32(8).u64(1).string("a")
    .string("last").u32(4).u32(5).build();
  const { metadata } = parseGguf(bytes, "some.gguf");
  const { items } = metadata.get("x") as NestedArray;
  assertEquals(items[0].value, Uint32Array.from([7, 8]));
  assertEquals((items[1].value as StringArray).toArray(), ["a"]);
  assertEquals(metadata.type("x"), "array of 2 array");
  assertEquals(metadata.integer("last"), 5);
  assertThrows(() => metadata.numbers("x"), M40Error, "wanted an array of numbers");
  assertThrows(() => metadata.booleans("x"), M40Error, "wanted an array of booleans");
});
