import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { companionOf, PEEK_BYTES, peekCompanion } from "./file_kind.ts";
import { parseGguf } from "./reader.ts";
import { architectureOf } from "../models/architecture.ts";
import { M40Error } from "../errors.ts";
import { companionFile, COMPANIONS, kindOf } from "../../tests/fixtures/companion_files.ts";
import { GgufBytes } from "../../tests/fixtures/gguf_bytes.ts";
import { golden, GOLDEN_NAMES } from "../../tests/fixtures/goldens.ts";

// What a file is, by its header.

for (const name of Object.keys(COMPANIONS)) {
  Deno.test(`a file that is a ${name} is known for it by its first bytes, and refused as what it is`, () => {
    const bytes = companionFile(name);
    assertEquals(peekCompanion(bytes.subarray(0, PEEK_BYTES), false)?.kind, kindOf(name) as never);
    const { code, message } = assertThrows(
      () => architectureOf(parseGguf(bytes, "x.gguf")),
      M40Error,
    );
    assertEquals(code, "unsupported");
    assertMatch(message, /^x\.gguf: this is no model but an? /);
    // What to do.
    assertMatch(message, /model's own file|merge|Merge|m40 tokenize/);
  });
}

Deno.test("every golden is a model, whole and by its first bytes", async () => {
  for (const name of GOLDEN_NAMES) {
    const bytes = await Deno.readFile(golden(name));
    assertEquals(peekCompanion(bytes.subarray(0, PEEK_BYTES), false), undefined, name);
    architectureOf(parseGguf(bytes, name));
  }
});

Deno.test("a model with layers that predict further tokens stays one; a first part without tensors too", () => {
  const facts = (tensors: number, isPart = false) => {
    const keys = new Map<string, string | number>([
      ["general.architecture", "qwen35"],
      ["qwen35.block_count", 33],
      ["qwen35.nextn_predict_layers", 1],
    ]);
    return companionOf({ get: (key) => keys.get(key), tensors, isPart })?.kind;
  };
  assertEquals(facts(427), undefined);
  assertEquals(facts(18), "drafter");
  assertEquals(facts(0), "vocabulary");
  assertEquals(facts(0, true), undefined);
});

Deno.test("bytes that end anywhere, or lie, are looked at without a fault and never taken for more than they say", () => {
  for (const name of Object.keys(COMPANIONS)) {
    const bytes = companionFile(name);
    for (let length = 0; length <= 400; length++) {
      const found = peekCompanion(bytes.subarray(0, length), false)?.kind;
      // Of a vocabulary the count of tensors is enough, and drafters have their architecture first.
      if (found !== undefined && found !== kindOf(name)) assertEquals(found, "vocabulary", name);
    }
  }
  const hostile: [string, Uint8Array][] = [
    ["nothing", new Uint8Array(0)],
    ["a page", new TextEncoder().encode("<!doctype html>".repeat(1000))],
    ["counts", new GgufBytes().start(2n ** 53n - 1n, 2n ** 53n - 1n).build()],
    ["counts beyond", new GgufBytes().start(2n ** 64n - 1n, 2n ** 64n - 1n).build()],
    ["a long key", new GgufBytes().start(1, 1).string("x", 2n ** 60n).build()],
    [
      "many strings",
      new GgufBytes().start(1, 1).string("a").u32(9).u32(8).u64(2n ** 40n)
        .raw(...new Uint8Array(PEEK_BYTES / 2)).build(),
    ],
    ["arrays of arrays", new GgufBytes().start(1, 1).string("a").u32(9).u32(9).u64(5).build()],
    ["no such type", new GgufBytes().start(1, 1).string("a").u32(99).build()],
    [
      "an architecture that is a number",
      new GgufBytes().start(1, 1).string("general.architecture").u32(4).u32(7).build(),
    ],
  ];
  for (const [name, bytes] of hostile) assertEquals(peekCompanion(bytes, false), undefined, name);
});
