import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { basename, join, resolve } from "@std/path";
import { M40Error } from "../errors.ts";
import {
  isModelName,
  MAX_NAME_LENGTH,
  MAX_PARTS,
  modelFileName,
  parseFileName,
  parseModelName,
  parseNewModelName,
  recordFileName,
  splitFileName,
} from "./names.ts";

Deno.test("names: what is no name is refused, with what is wrong about it", () => {
  const bad: [string, string][] = [
    ["", "it is empty"],
    ["/etc/passwd", "it is an absolute path"],
    ["..", 'it contains ".."'],
    ["../x", 'it contains ".."'],
    ["a/../b", 'it contains ".."'],
    ["a\\..\\b", 'it contains ".."'],
    ["a/b", "it contains a path separator"],
    ["a\\b", "it contains a path separator"],
    ["a\0b", "it contains a NUL character"],
    ["a\nb", "it contains a control character"],
    ["a\x1b[2Jb", "it contains a control character"],
    ["a\x85b", "it contains a control character"],
    [".hidden", "it begins with a dot"],
    ["-rf", "it begins with a dash"],
    ["x".repeat(MAX_NAME_LENGTH + 1), `it has ${MAX_NAME_LENGTH + 1} characters`],
    ["a:b:c", "it contains more than one colon"],
    ["a:", "there is nothing on one side of its colon"],
    [":a", "there is nothing on one side of its colon"],
    ["a:-b", 'its tag begins with "-"'],
    ["a:..", 'its tag begins with "."'],
    ["a b", 'it contains " "'],
    ["modèle", 'it contains "è"'],
    ["a\u202eb", "it contains "],
    ["\ud800", "it contains "],
    ["x.gguf", 'it ends in ".gguf"'],
    ["x-00001-of-00003", "it ends as the file of a model in several parts does"],
  ];
  for (const [name, reason] of bad) {
    assertEquals(isModelName(name), false, JSON.stringify(name));
    for (const parse of [parseModelName, modelFileName, recordFileName]) {
      const error = assertThrows(() => parse(name), M40Error, reason, JSON.stringify(name));
      assertEquals(error.code, "invalid_request");
      // deno-lint-ignore no-control-regex
      assertEquals(/[\x00-\x1f]/.test(error.message), false, "a terminal would obey the message");
    }
  }
});

Deno.test("names: a name is taken apart at its colon, and its files are named by it", () => {
  assertEquals(parseModelName("mistral:7b-instruct-q4_K_M"), {
    name: "mistral:7b-instruct-q4_K_M",
    base: "mistral",
    tag: "7b-instruct-q4_K_M",
  });
  assertEquals(parseModelName("qwen3.5").tag, undefined);
  assertEquals(modelFileName("qwen3:8b"), "qwen3:8b.gguf");
  assertEquals(modelFileName("big", { number: 2, count: 12 }), "big-00002-of-00012.gguf");
  assertEquals(recordFileName("qwen3:8b"), "qwen3:8b.json");
  assertThrows(() => modelFileName("big", { number: 3, count: 2 }), RangeError);
  assertThrows(() => modelFileName("big", { number: 1, count: MAX_PARTS + 1 }), RangeError);
});

Deno.test("names: the built-in model's name is no new model's", () => {
  assertEquals(parseModelName("demo").name, "demo");
  assertThrows(() => parseNewModelName("demo"), M40Error, "the built-in model");
  assertEquals(parseNewModelName("demo:2").name, "demo:2");
});

Deno.test("names: a file of the models directory names its model and its part", () => {
  assertEquals(parseFileName("a:b.gguf"), { name: "a:b", part: undefined });
  assertEquals(parseFileName("a-00002-of-00003.gguf"), {
    name: "a",
    part: { number: 2, count: 3 },
  });
  for (
    const file of [
      "a",
      ".gguf",
      ".a.gguf",
      "-a.gguf",
      "a b.gguf",
      "a.GGUF",
      "a.gguf.json",
      "a.gguf.gguf",
      "a-00000-of-00003.gguf",
      "a-00004-of-00003.gguf",
      "a-00001-of-99999.gguf",
      "a-00001-of-00001-00001-of-00002.gguf",
      "-00001-of-00002.gguf",
      "a\n.gguf",
    ]
  ) {
    assertEquals(parseFileName(file), undefined, file);
  }
  // Elsewhere files may be called anything.
  assertEquals(splitFileName("a b-00001-of-00002.gguf")?.stem, "a b");
});

Deno.test("names: no text that passes leads out of a folder, and each file has one name", () => {
  const word = fc.string({ unit: fc.constantFrom(..."aZ09._-:/\\ \0-of-0001"), maxLength: 24 });
  const name = fc.oneof(word, fc.string(), fc.string({ unit: "binary" }));
  const part = fc.option(
    fc.integer({ min: 1, max: MAX_PARTS }).chain((count) =>
      fc.integer({ min: 1, max: count }).map((number) => ({ number, count }))
    ),
    { nil: undefined },
  );
  let names = 0;
  fc.assert(
    fc.property(name, part, (name, part) => {
      if (!isModelName(name)) return;
      names++;
      const file = modelFileName(name, part);
      assertEquals(parseFileName(file), { name, part });
      for (const each of [file, recordFileName(name)]) {
        assertEquals(basename(each), each);
        assertEquals(resolve(join("/store", each)), `/store/${each}`);
        assertEquals(new TextEncoder().encode(each).length <= 255, true);
      }
    }),
    { numRuns: 5000 },
  );
  assertEquals(names > 50, true, `only ${names} names were tried`);
});
