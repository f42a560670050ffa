import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../errors.ts";
import type { MetadataEntry } from "../gguf/metadata.ts";
import { readGguf } from "../gguf/reader.ts";
import { loadTokenizer } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";
import {
  BASIC,
  bool,
  floats,
  ints,
  string,
  strings,
  type TokenInput,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const K = "tokenizer.ggml.";
const RAW = { addSpecial: false };
const UNKNOWN = 0;
const EOS = 2;

/** `<unk>`, `<s>` and `</s>`, as ids 0 to 2. */
const SPECIAL = BASIC.slice(0, 3);

/** Pieces with their scores after {@link SPECIAL}; spaces are written _ here. */
function unigram(
  pieces: [text: string, score: number][] | TokenInput[],
  changes: Record<string, MetadataEntry | undefined> = {},
  first = SPECIAL,
): Tokenizer {
  const tokens = pieces.map((piece) =>
    Array.isArray(piece) ? { text: piece[0].replaceAll("_", "\u2581"), score: piece[1] } : piece
  );
  return loadTokenizer(
    vocabularyMetadata([...first, ...tokens], { [`${K}model`]: string("t5"), ...changes }),
  );
}

Deno.test("tokenizer: Unigram takes the pieces with the best sum, not the longest or the first", () => {
  const tokenizer = unigram([
    ["_", -2],
    ["a", -3],
    ["ab", -3],
    ["abc", -9],
    ["c", -3],
    ["_ab", -5.5],
    ["bc", -1],
  ]);
  const texts = (text: string) => tokenizer.encode(text, RAW).map((id) => tokenizer.tokenText(id));
  assertEquals(texts("ab"), ["\u2581", "ab"], "-2 - 3 is more than -5.5");
  assertEquals(texts("abc"), ["\u2581", "a", "bc"], "-6 is more than -8, -8.5 and -11");
  assertEquals(texts("ab abc"), ["\u2581", "ab", "\u2581", "a", "bc"]);
});

Deno.test("tokenizer: Unigram makes one unknown token of several strange characters, bytes where there are all", () => {
  const pieces: [string, number][] = [["_", -1], ["a", -1]];
  const tokenizer = unigram(pieces);
  assertEquals(tokenizer.encode("aж漢\u{1f600}a", RAW), [3, 4, UNKNOWN, 4]);
  assertEquals(tokenizer.encode("ж a", RAW), [3, UNKNOWN, 3, 4]);
  const bytes = unigram(pieces, {}, BASIC);
  const ids = bytes.encode("aж", RAW);
  assertEquals(ids.map((id) => bytes.tokenText(id)), ["\u2581", "a", "<0xD0>", "<0xB6>"]);
  assertEquals(bytes.decode(ids), "aж");
  assertEquals(bytes.decode(bytes.encodeBytes(Uint8Array.of(0x61, 0xff))), "a\ufffd");
});

Deno.test("tokenizer: a Unigram piece of one strange character is taken over the unknown token, however bad", () => {
  const tokenizer = unigram([["_", -1], ["ж", -100], ["жж", -250]]);
  assertEquals(tokenizer.encode("жж", RAW), [3, 4, 4]);
});

Deno.test("tokenizer: spaces in a Unigram text are as the file says", () => {
  const encode = (prefix: boolean | undefined, trims: boolean | undefined, text: string) => {
    const tokenizer = unigram([["_", -1], ["a", -1]], {
      [`${K}add_space_prefix`]: prefix === undefined ? undefined : bool(prefix),
      [`${K}remove_extra_whitespaces`]: trims === undefined ? undefined : bool(trims),
    });
    return tokenizer.encode(text, RAW).map((id) => tokenizer.tokenText(id)).join("")
      .replaceAll("\u2581", "_");
  };
  assertEquals(encode(undefined, undefined, "  a  a "), "_a_a");
  assertEquals(encode(true, true, "  a  a "), "_a_a");
  assertEquals(encode(false, true, "  a  a "), "a_a");
  assertEquals(encode(true, false, "  a  a "), "___a__a_");
  assertEquals(encode(false, false, "  a  a "), "__a__a_");
  for (const prefix of [true, false]) {
    assertEquals(encode(prefix, true, "   "), "");
    assertEquals(encode(prefix, false, ""), "");
  }
});

Deno.test("tokenizer: Unigram ends a text with EOS and begins it with nothing where the file does not say", () => {
  const tokenizer = unigram([["_", -1], ["a", -1]]);
  assertEquals(tokenizer.encode("a"), [3, 4, EOS]);
  assertEquals(tokenizer.encode(""), [EOS]);
  assertEquals(
    unigram([["_", -1], ["a", -1]], { [`${K}add_eos_token`]: bool(false) }).encode("a"),
    [3, 4],
  );
});

Deno.test("tokenizer: user-defined tokens are found in a Unigram text before it is normalized", () => {
  const tokenizer = unigram([
    { text: "\u2581", score: -1 },
    { text: "a", score: -1 },
    { text: "< x  y >", type: 4 },
  ]);
  const tokens = tokenizer.encode("a  a< x  y >a", RAW);
  assertEquals(tokens, [3, 4, 3, 4, 5, 3, 4]);
  assertEquals(tokenizer.decode(tokens), "a a< x  y >a");
});

Deno.test("tokenizer: decoding gives a Unigram text back, whole or token by token", async () => {
  const path = new URL("../../tests/data/tokenizer/unigram-plain.gguf", import.meta.url).pathname;
  const { metadata } = await readGguf(path);
  const known = metadata.strings(`${K}tokens`).join("").replaceAll(/[\u2581<>]/g, "");
  const tokenizer = loadTokenizer(metadata);
  const unit = fc.constantFrom(" ", ...new Set(known));
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
      const tokens = tokenizer.encode(text);
      fc.pre(!tokens.includes(UNKNOWN));
      assertEquals(tokenizer.decode(tokens), text);
      const decoder = tokenizer.decoder();
      assertEquals(tokens.map((token) => decoder.push(token)).join("") + decoder.flush(), text);
    }),
    { numRuns: 500 },
  );
});

Deno.test("tokenizer: a megabyte without a space is spelled by Unigram as well", () => {
  const tokenizer = unigram([["_", -1], ["a", -2], ["aaaa", -3], ["漢", -2]]);
  assertEquals(tokenizer.encode("a".repeat(1_000_000), RAW).length, 250_001);
  assertEquals(tokenizer.encode("漢".repeat(1_000_000), RAW).length, 1_000_001);
  assertEquals(tokenizer.encode("\u{1f600}".repeat(250_000), RAW), [3, UNKNOWN]);
  assertEquals(tokenizer.encode(" ".repeat(1_000_000), RAW), []);
});

Deno.test("tokenizer: every one of many Unigram pieces is found, and nothing that only begins like one", () => {
  const pieces = Array.from({ length: 20_000 }, (_, i) => Math.imul(i, 0x9e3779b1).toString(36));
  const tokenizer = unigram([...pieces.map((text): [string, number] => [text, -1])], {
    [`${K}add_space_prefix`]: bool(false),
  });
  for (const [i, piece] of pieces.entries()) {
    assertEquals(tokenizer.encode(piece, RAW), [3 + i], piece);
  }
  assertEquals(tokenizer.encode("~~", RAW), [UNKNOWN]);
});

Deno.test("tokenizer: empty pieces do Unigram no harm, and of two alike the last counts", () => {
  const tokenizer = unigram([["_", -1], ["", -1], ["a", -1], ["a", -5], ["", 0]]);
  assertEquals(tokenizer.encode("aa", RAW), [3, 6, 6]);
  assertEquals(tokenizer.decode([4, 6, 7]), "a");
});

Deno.test("tokenizer: a Unigram vocabulary that cannot choose or cannot spell is refused", () => {
  const refused = (changes: Record<string, MetadataEntry | undefined>, ...parts: string[]) => {
    const error = assertThrows(() => unigram([["_", -1], ["a", -1]], changes), M40Error);
    assertEquals(error.code, "invalid_model");
    for (const part of parts) assertStringIncludes(error.message, part);
  };
  refused({ [`${K}scores`]: undefined }, `${K}scores`, "t5");
  for (const score of [NaN, Infinity, -Infinity]) {
    refused({ [`${K}scores`]: floats([0, 0, 0, -1, score]) }, `${K}scores`, "4");
  }
  refused({
    [`${K}unknown_token_id`]: undefined,
    [`${K}token_type`]: ints([1, 3, 3, 1, 1]),
  }, "unknown token");
  for (const damaged of [ints([1, 2, 3, 4, 5, 6, 7, 8]), strings(["abc"]), string("abc")]) {
    refused({ [`${K}precompiled_charsmap`]: damaged }, `${K}precompiled_charsmap`);
  }
  const bytes: MetadataEntry = { type: "array", element: "uint8", value: new Uint8Array(64) };
  refused({ [`${K}precompiled_charsmap`]: bytes }, `${K}precompiled_charsmap`);
  const long = "a".repeat(513);
  refused({ [`${K}tokens`]: strings(["<unk>", "<s>", "</s>", "\u2581", long]) }, "Token 4", "513");
  const none: MetadataEntry = { type: "array", element: "int8", value: new Int8Array(0) };
  assert(unigram([["_", -1]], { [`${K}precompiled_charsmap`]: none }).vocabSize === 4);
});
