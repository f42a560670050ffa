import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../errors.ts";
import { arrayEntry, entry } from "./entries.ts";
import { Metadata } from "./metadata.ts";
import { StringArray } from "./string_array.ts";

const metadata = new Metadata([
  ["a.string", entry("string", "text")],
  ["a.count", entry("uint32", 7)],
  ["a.negative", entry("int32", -7)],
  ["a.float", entry("float32", 0.5)],
  ["a.nan", entry("float32", NaN)],
  ["a.bool", entry("bool", true)],
  ["a.big", { type: "uint64", value: 2n ** 63n }],
  ["a.strings", arrayEntry("string", ["x", "ü", ""])],
  ["a.floats", arrayEntry("float32", [1, 2.5])],
  ["a.longs", arrayEntry("int64", [1, -2])],
  ["a.hugelongs", arrayEntry("int64", [2n ** 60n])],
  ["a.bools", arrayEntry("bool", [true, false])],
], "some.gguf");

Deno.test("metadata: each type is given as itself", () => {
  assertEquals(metadata.string("a.string"), "text");
  assertEquals(metadata.number("a.count"), 7);
  assertEquals(metadata.number("a.float"), 0.5);
  assertEquals(metadata.integer("a.count"), 7);
  assertEquals(metadata.integer("a.negative", undefined, { min: -10 }), -7);
  assertEquals(metadata.boolean("a.bool"), true);
  assertEquals(metadata.get("a.big"), 2n ** 63n);
  assertEquals(metadata.strings("a.strings"), ["x", "ü", ""]);
  assertEquals(metadata.numbers("a.floats"), new Float32Array([1, 2.5]));
  assertEquals(metadata.numbers("a.longs"), [1, -2]);
  assertEquals(metadata.booleans("a.bools"), [true, false]);
  assertEquals(metadata.type("a.strings"), "array of 3 string");
  assertEquals(metadata.type("nothing"), undefined);
  assertEquals(metadata.get("nothing"), undefined);
  assertEquals([...metadata.keys()].length, metadata.size);
});

Deno.test("metadata: a fallback is used only where the key is missing", () => {
  assertEquals(metadata.string("nothing", "else"), "else");
  assertEquals(metadata.number("nothing", 0), 0);
  assertEquals(metadata.boolean("nothing", false), false);
  assertEquals(metadata.number("a.count", 1), 7);
  assertThrows(() => metadata.number("a.string", 1), M40Error);
});

Deno.test("metadata: a missing key or wrong type names key, file, got and wanted", () => {
  const cases: [() => unknown, ...string[]][] = [
    [() => metadata.string("nothing"), '"nothing"', "a string"],
    [() => metadata.strings("nothing"), '"nothing"', "an array of strings"],
    [() => metadata.string("a.count"), '"a.count"', "uint32 7", "wanted a string"],
    [() => metadata.number("a.string"), '"a.string"', 'string "text"', "wanted a number"],
    [() => metadata.number("a.bool"), '"a.bool"', "bool true", "wanted a number"],
    [() => metadata.number("a.nan"), "NaN", "finite"],
    [() => metadata.number("a.big"), "uint64 9223372036854775808"],
    [() => metadata.integer("a.float"), "0.5", "whole number"],
    [() => metadata.integer("a.negative"), "-7", "from 0"],
    [() => metadata.integer("a.count", undefined, { max: 6 }), "uint32 7", "to 6"],
    [() => metadata.boolean("a.count"), "wanted a boolean"],
    [() => metadata.strings("a.floats"), "array of 2 float32", "wanted an array of strings"],
    [() => metadata.strings("a.string"), 'string "text"', "wanted an array of strings"],
    [() => metadata.numbers("a.strings"), "array of 3 string", "wanted an array of numbers"],
    [() => metadata.numbers("a.count"), "uint32 7", "wanted an array of numbers"],
    [() => metadata.numbers("a.hugelongs"), "2^53"],
    [() => metadata.booleans("a.floats"), "wanted an array of booleans"],
  ];
  for (const [access, ...messages] of cases) {
    const error = assertThrows(access, M40Error);
    assertEquals(error.code, "invalid_model");
    for (const message of ["some.gguf", ...messages]) assertStringIncludes(error.message, message);
  }
});

Deno.test("metadata: a value that does not fit its type cannot be made", () => {
  assertThrows(() => entry("uint8", 256), RangeError, "uint8");
  assertThrows(() => entry("int8", -129), RangeError, "int8");
  assertThrows(() => entry("uint32", 1.5), RangeError, "uint32");
  assertThrows(() => entry("uint64", -1), RangeError, "uint64");
  assertThrows(() => entry("string", 1), RangeError, "string");
  assertThrows(() => arrayEntry("int32", [1, 2 ** 31]), RangeError, "int32");
});

Deno.test("strings: every string is decoded as it would be alone, damaged ones too", () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  const parts: (string | Uint8Array)[] = [
    "plain",
    "",
    "\ufeffmark",
    "Grüße",
    "日本語",
    "🦙🦙",
    "a\u0000b",
    bytes(0xff),
    bytes(0xe2, 0x82), // cut off ...
    bytes(0xac), // ... and its end in the next string: not one character
    bytes(0xc0, 0x80), // overlong
    bytes(0xed, 0xa0, 0x80), // a surrogate
    bytes(0xf5, 0x80, 0x80, 0x80), // beyond Unicode
    bytes(0xf0, 0x9f, 0xa6),
    "after",
  ];
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const alone = parts.map((part) => typeof part === "string" ? part : decoder.decode(part));
  assertEquals(StringArray.from(parts).toArray(), alone);
  // Each damaged string by itself among good ones, so that none hides behind another.
  for (const part of parts) {
    const array = StringArray.from(["left", part, "right"]);
    const text = typeof part === "string" ? part : decoder.decode(part);
    assertEquals(array.toArray(), ["left", text, "right"]);
    assertEquals([...array], ["left", text, "right"]);
    assertEquals(array.at(1), text);
  }
  // Many runs.
  const many = Array.from({ length: 50000 }, (_, i) => `${i} ${alone[i % 7]} ${"é".repeat(i % 9)}`);
  assertEquals(StringArray.from(many).toArray(), many);
  assertThrows(() => StringArray.from(["a"]).bytes(1), RangeError, "has 1");
});
