import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { M40Error } from "../errors.ts";
import type { MetadataEntry } from "../gguf/metadata.ts";
import { loadTokenizer } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";
import {
  bool,
  string,
  type TokenInput,
  uint32,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const K = "tokenizer.ggml.";
const RAW = { addSpecial: false };

const SPECIAL: TokenInput[] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  .map((text) => ({ text, type: 3 }));

/** A vocabulary with {@link SPECIAL} in front; words begin with U+2581, which is written _ here. */
function wordPiece(
  tokens: (string | TokenInput)[],
  changes: Record<string, MetadataEntry | undefined> = {},
): Tokenizer {
  const marked = tokens.map((token) =>
    typeof token === "string" ? token.replaceAll("_", "\u2581") : token
  );
  return loadTokenizer(vocabularyMetadata([...SPECIAL, ...marked], {
    [`${K}model`]: string("bert"),
    [`${K}scores`]: undefined,
    [`${K}bos_token_id`]: undefined,
    [`${K}eos_token_id`]: undefined,
    [`${K}unknown_token_id`]: undefined,
    ...changes,
  }));
}

const UNKNOWN = 1;
const CLS = 2;
const SEP = 3;
const MASK = 4;

Deno.test("tokenizer: WordPiece takes the longest token first, and gives up a word that it cannot end", () => {
  const tokenizer = wordPiece(["_un", "_unaff", "aff", "able", "_able", "ab", "_x"]);
  const texts = (text: string) => tokenizer.encode(text, RAW).map((id) => tokenizer.tokenText(id));
  assertEquals(texts("unaffable"), ["\u2581unaff", "able"]);
  assertEquals(texts("unable able"), ["\u2581un", "able", "\u2581able"]);
  // "ab" fits, but nothing goes on from there; and what fitted before is taken back.
  assertEquals(texts("unabx x"), ["[UNK]", "\u2581x"]);
  assertEquals(texts("aff"), ["[UNK]"], "what goes on with a word cannot begin one");
});

Deno.test("tokenizer: WordPiece knows no word of more than 100 characters", () => {
  const tokenizer = wordPiece(["_a", "a", "_\u{1f600}", "\u{1f600}"]);
  for (const letter of ["a", "\u{1f600}"]) {
    assertEquals(tokenizer.encode(letter.repeat(100), RAW).length, 100);
    assertEquals(tokenizer.encode(letter.repeat(101), RAW), [UNKNOWN]);
  }
  for (const letter of ["a", "ж", "\u{1f600}", " ", "漢", "\u0301", "."]) {
    const tokens = tokenizer.encode(letter.repeat(1_000_000), RAW);
    assertEquals(
      tokens.length,
      letter === " " || letter === "\u0301" ? 0 : /[漢.]/.test(letter) ? 1e6 : 1,
    );
  }
});

Deno.test("tokenizer: WordPiece cleans text, and leaves capitals and accents where the file says so", () => {
  const tokens = [
    "_eleve",
    "_\u00e9l\u00e8ve",
    "_\u00c9l\u00e8ve",
    "_eléve".normalize("NFC"),
    "_b",
  ];
  const uncased = wordPiece(tokens);
  assertEquals(uncased.encode("\u00c9l\u00e8ve E\u0301le\u0300ve \u0001el\u200beve\ufffd", RAW), [
    5,
    5,
    5,
  ]);
  const cased = wordPiece(tokens, { [`${K}normalizer.lowercase`]: bool(false) });
  assertEquals(cased.encode("\u00c9l\u00e8ve \u00e9l\u00e8ve", RAW), [7, 6]);
  const accented = wordPiece(tokens, { [`${K}normalizer.strip_accents`]: bool(false) });
  assertEquals(accented.encode("\u00c9l\u00e8ve", RAW), [6]);
  const stripped = wordPiece(tokens, {
    [`${K}normalizer.lowercase`]: bool(false),
    [`${K}normalizer.strip_accents`]: bool(true),
  });
  assertEquals(stripped.encode("\u00e9l\u00e8ve", RAW), [5]);
  assertEquals(
    uncased.encodeBytes(Uint8Array.of(0x62, 0xff, 0x20, 0xc3), RAW),
    [9],
    "bytes that are no UTF-8 count as U+FFFD",
  );
});

Deno.test("tokenizer: WordPiece has one small letter for a capital sigma, at a word's end too", () => {
  const tokenizer = wordPiece(["_\u03b1\u03c3", "_\u03b1\u03c2"]);
  assertEquals(tokenizer.encode("\u0391\u03a3 \u03b1\u03c2", RAW), [5, 6]);
});

Deno.test("tokenizer: WordPiece adds CLS and SEP, by whatever name the file knows them", () => {
  const changes: Record<string, MetadataEntry | undefined>[] = [
    {},
    { [`${K}cls_token_id`]: uint32(CLS), [`${K}seperator_token_id`]: uint32(SEP) },
    { [`${K}bos_token_id`]: uint32(CLS), [`${K}eos_token_id`]: uint32(SEP) },
  ];
  for (const change of changes) {
    const tokenizer = wordPiece(["_a"], change);
    assertEquals([tokenizer.bos, tokenizer.eos], [CLS, SEP]);
    assertEquals(tokenizer.encode("a"), [CLS, 5, SEP]);
    assertEquals(tokenizer.encode(""), [CLS, SEP]);
    assertEquals(tokenizer.decode([CLS, 5, SEP]), "a");
  }
  const none = { [`${K}add_bos_token`]: bool(false), [`${K}add_eos_token`]: bool(false) };
  assertEquals(wordPiece(["_a"], none).encode("a"), [5]);
});

Deno.test("tokenizer: WordPiece reads the name of a control token in a text only where it is asked to", () => {
  const tokenizer = wordPiece(["_a", "_[", "_mask", "_]"]);
  assertEquals(tokenizer.encode("a[MASK]a", RAW), [5, 6, 7, 8, 5]);
  assertEquals(tokenizer.encode("a[MASK]a", { ...RAW, parseSpecial: true }), [5, MASK, 5]);
});

Deno.test("tokenizer: WordPiece puts spaces between words when it decodes, token by token as well", () => {
  const tokenizer = wordPiece(["_hello", "_world", "s", "_,", "_!", "_don", "_'", "_t"]);
  const text = "hello, worlds! don ' t";
  const tokens = tokenizer.encode(text);
  assertEquals(tokenizer.decode(tokens), text);
  const decoder = tokenizer.decoder();
  assertEquals(tokens.map((token) => decoder.push(token)).join("") + decoder.flush(), text);
  assertEquals(tokenizer.decode([5, SEP, 6]), "hello world");
  assertEquals(tokenizer.decode([5, UNKNOWN, 6]), "hello world");
  assertEquals(tokenizer.decode([5, MASK, 6], { skipSpecial: false }), "hello[MASK] world");
  assertEquals(tokenizer.decode([5], { continuing: true }), " hello");
});

Deno.test("tokenizer: empty tokens and marks alone do WordPiece no harm, and of two alike the last is", () => {
  const tokenizer = wordPiece(["", "_", "_a", "_a", "b", "b", { text: "", type: 4 }]);
  assertEquals(tokenizer.encode("ab a", RAW), [8, 10, 8]);
  assertEquals(tokenizer.decode([5, 6, 8, 10]), " ab");
});

Deno.test("tokenizer: a WordPiece vocabulary without an unknown token, or with damaged settings, is refused", () => {
  const refused = (make: () => unknown, ...parts: string[]) => {
    const error = assertThrows(make, M40Error);
    assertEquals(error.code, "invalid_model");
    for (const part of parts) assertStringIncludes(error.message, part);
  };
  const tokens = vocabularyMetadata(["\u2581a"], {
    [`${K}model`]: string("bert"),
    [`${K}bos_token_id`]: undefined,
    [`${K}eos_token_id`]: undefined,
    [`${K}unknown_token_id`]: undefined,
  });
  refused(() => loadTokenizer(tokens), "[UNK]");
  refused(() => wordPiece(["_a"], { [`${K}normalizer.lowercase`]: uint32(1) }), "lowercase");
});

Deno.test("tokenizer: special ids of WordPiece beyond the vocabulary are warned of, and found by their texts", () => {
  const warnings: string[] = [];
  const metadata = vocabularyMetadata(["[UNK]", "[CLS]", "[SEP]", "\u2581a"], {
    [`${K}model`]: string("bert"),
    [`${K}bos_token_id`]: undefined,
    [`${K}eos_token_id`]: undefined,
    [`${K}unknown_token_id`]: undefined,
    [`${K}cls_token_id`]: uint32(99),
    [`${K}seperator_token_id`]: uint32(1000),
  });
  const tokenizer = loadTokenizer(metadata, { onWarning: (warning) => warnings.push(warning) });
  const [bos, , eos] = tokenizer.encode("a");
  assertEquals([bos, eos].map((id) => tokenizer.decode([id!], { skipSpecial: false })), [
    "[CLS]",
    "[SEP]",
  ]);
  assertEquals(
    warnings.filter((warning) => /cls_token_id.*99|seperator.*1000/.test(warning)).length,
    2,
  );
});
