import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../errors.ts";
import { readGguf } from "../gguf/reader.ts";
import { Charsmap } from "./charsmap.ts";

const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 300);
const LEAF = 0x80000000;

/** The bytes of a map: the length of the index, the index, the replacements. */
function mapOf(units: Uint32Array, replacements: Uint8Array | string): Uint8Array {
  const values = typeof replacements === "string"
    ? new TextEncoder().encode(replacements)
    : replacements;
  const bytes = new Uint8Array(4 + units.byteLength + values.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, units.byteLength, true);
  units.forEach((unit, i) => view.setUint32(4 + 4 * i, unit, true));
  bytes.set(values, 4 + units.byteLength);
  return bytes;
}

/** An index with one key, "a": unit 353 is its only label, unit 225 its end. */
function indexOfA(change: (units: Uint32Array) => void = () => {}): Uint32Array {
  const units = new Uint32Array(512);
  units[0] = 256 << 10;
  units[256 ^ 0x61] = 0x61 | 0x100 | (128 << 10);
  units[256 ^ 0x61 ^ 128] = LEAF;
  change(units);
  return units;
}

function refused(bytes: Uint8Array, ...parts: string[]): void {
  const error = assertThrows(() => new Charsmap(bytes), M40Error);
  assertEquals(error.code, "invalid_model");
  assertStringIncludes(error.message, "tokenizer.ggml.precompiled_charsmap");
  for (const part of parts) assertStringIncludes(error.message, part);
}

/** A trained map: its keys overlap, and one replaces by nothing. */
async function trainedMap(): Promise<Uint8Array> {
  const path = new URL("../../tests/data/tokenizer/unigram.gguf", import.meta.url).pathname;
  const { metadata } = await readGguf(path);
  return Uint8Array.from(metadata.numbers("tokenizer.ggml.precompiled_charsmap"));
}

Deno.test("charsmap: the longest prefix is replaced, and what none begins stays", async () => {
  const map = new Charsmap(await trainedMap());
  const cases: [string, string][] = [
    ["", ""],
    ["plain text, 1 2 3", "plain text, 1 2 3"],
    ["e\u0301e\u0301\u0302e\u0302e", "\u00e9\u1ebfe\u0302e"],
    ["a\tb\nc\u3000d", "a b c d"],
    ["x\u200by", "xy"],
    ["....", "\u2026."],
    ["..", ".."],
    ["\uff21\ufb01\u00bd", "Afi1\u20442"],
    ["\u2126 \u6f22 \u{1f600}", "\u03a9 \u6f22 \u{1f600}"],
    ["\0a\ud800", "\0a\ud800"],
  ];
  for (const [text, wanted] of cases) assertEquals(map.normalize(text), wanted);
  assertEquals(new Charsmap(mapOf(indexOfA(), "xy\0")).normalize("banana"), "bxynxynxy");
});

Deno.test("charsmap: lengths that do not fit are refused", () => {
  const good = mapOf(indexOfA(), "xy\0");
  refused(new Uint8Array(0), "0 bytes");
  refused(good.slice(0, 7), "7 bytes");
  refused(new Uint8Array((1 << 22) + 1));
  for (const length of [0, 1, 2049, good.length, 0xffffffff]) {
    const bytes = good.slice();
    new DataView(bytes.buffer).setUint32(0, length, true);
    refused(bytes, `${length}`);
  }
});

Deno.test("charsmap: an index that goes round in a circle is refused", () => {
  // The child of "a" by "a" is the unit itself.
  const circle = indexOfA((units) => units[256 ^ 0x61] = 0x61 | (0x61 << 10));
  refused(mapOf(circle, "xy\0"), "circle");
});

Deno.test("charsmap: ends of keys that lie outside, or are none, are refused", () => {
  refused(mapOf(indexOfA((units) => units[256 ^ 0x61 ^ 128] = 0), "xy\0"), "481");
  refused(mapOf(indexOfA((units) => units[256 ^ 0x61] |= 0x1fffff << 10), "xy\0"), "key ends");
});

Deno.test("charsmap: replacements that have no end or are too long are refused", () => {
  refused(mapOf(indexOfA(), "xy"), "no end");
  refused(mapOf(indexOfA(), ""), "no end");
  refused(mapOf(indexOfA((units) => units[256 ^ 0x61 ^ 128] = LEAF | 3), "xy\0"), "3");
  refused(mapOf(indexOfA(), `${"x".repeat(129)}\0`), "129");
  assertEquals(new Charsmap(mapOf(indexOfA(), "\0")).normalize("banana"), "bnn");
});

Deno.test("charsmap: any damage is refused, or makes another map that ends", async () => {
  const good = await trainedMap();
  const text = "e\u0301...\uff21\ufb01 \t\u200b\u00bd".repeat(50);
  let survived = 0;
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 40 }),
      fc.nat(good.length),
      (changes, length) => {
        const bytes = length % 3 === 0 ? good.slice(0, length) : good.slice();
        for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value;
        try {
          const normalized = new Charsmap(bytes).normalize(text);
          assert(normalized.length <= 128 * text.length);
          survived++;
        } catch (error) {
          if (!(error instanceof M40Error)) throw error;
          assertEquals(error.code, "invalid_model");
        }
      },
    ),
    { numRuns: RUNS },
  );
  assert(survived > 0 && survived < RUNS, `${survived} of ${RUNS} were taken`);
});
