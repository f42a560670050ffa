import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../errors.ts";
import type { MetadataEntry } from "../gguf/metadata.ts";
import { readGguf } from "../gguf/reader.ts";
import { BYTE_CHARACTERS } from "./byte_alphabet.ts";
import { loadTokenizer } from "./load.ts";
import { mergeByDefinition } from "../../tests/fixtures/merge_by_definition.ts";
import {
  BASIC,
  bool,
  byteLevelMetadata,
  characterMetadata,
  string,
  strings,
  type TokenInput,
  uint32,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 300);
const K = "tokenizer.ggml.";
const encoder = new TextEncoder();

/** A text in the alphabet of bytes. */
function inAlphabet(text: string): string {
  return Array.from(encoder.encode(text), (byte) => BYTE_CHARACTERS[byte]).join("");
}

/** Merges of a small alphabet, each of two texts that bytes or earlier merges have made; some twice. */
const merges = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 24 })
  .map((pairs) => {
    const made = ["a", "b", "c", inAlphabet("é")[0], inAlphabet("é")[1]];
    return pairs.map(([left, right]) => {
      const parts = [made[left % made.length], made[right % made.length]];
      made.push(parts.join(""));
      return parts.join(" ");
    });
  });
const letters = fc.string({
  unit: fc.constantFrom("a", "b", "c", "é"),
  maxLength: 200,
  size: "max",
});

Deno.test("byte-level BPE: merges come in the order of their rank, for any merges and words of any length", () => {
  let longest = 0;
  fc.assert(
    fc.property(merges, letters, (merges, text) => {
      const tokenizer = loadTokenizer(byteLevelMetadata(merges));
      const wanted = mergeByDefinition([...inAlphabet(text)], merges);
      const got = tokenizer.encode(text);
      assertEquals(got.map((id) => tokenizer.tokenText(id)), wanted);
      assertEquals(tokenizer.encode(text), got, "the second time, out of the cache");
      longest = Math.max(longest, text.length);
    }),
    { numRuns: RUNS },
  );
  assert(longest > 100, "words were long enough for the heap");
});

Deno.test("byte-level BPE: words do not merge with one another, and a word that is a token may be one at once", () => {
  const merges = ["a b", "ab c", "b c"];
  const plain = loadTokenizer(byteLevelMetadata(merges, ["cab"]));
  const texts = (ids: number[]) => ids.map((id) => plain.tokenText(id));
  assertEquals(texts(plain.encode("abc abc")), ["abc", "\u0120", "abc"]);
  assertEquals(texts(plain.encode("cab")), ["c", "ab"]);
  const whole = loadTokenizer(byteLevelMetadata(merges, ["cab"], {
    [`${K}pre`]: string("llama-bpe"),
  }));
  assertEquals(texts(whole.encode("cab")), ["cab"], "ignore_merges");
});

/** A vocabulary with tokens of every type; of the bytes, 0xff is missing. */
const TOKENS: TokenInput[] = [
  { text: "<|bos|>", type: 3 },
  { text: "<|im_end|>", type: 3 },
  { text: "<think>", type: 4 },
  { text: "  ", type: 4 },
  { text: "[PAD1]", type: 5 },
  { text: "漢字", type: 1 },
  { text: "\u00a7", type: 3 },
];
const MERGES = ["t h", "th e", "\u0120 the", "\u0120 \u0120", "h e", "< |", "| >", "i m"];
const id = (text: string) =>
  256 + TOKENS.findIndex((token) => (token as { text: string }).text === text);

Deno.test("byte-level BPE: BOS by the pre-tokenizer's name, and as the file says", () => {
  const bos = { [`${K}bos_token_id`]: uint32(id("<|bos|>")) };
  const load = (changes: Record<string, MetadataEntry>) =>
    loadTokenizer(byteLevelMetadata(MERGES, TOKENS, { ...bos, ...changes })).encode("").length;
  assertEquals(load({}), 0);
  assertEquals(load({ [`${K}pre`]: string("llama3") }), 1);
  assertEquals(load({ [`${K}pre`]: string("tekken") }), 1);
  assertEquals(load({ [`${K}pre`]: string("glm4") }), 0);
  assertEquals(load({ [`${K}add_bos_token`]: bool(true) }), 1);
  assertEquals(load({ [`${K}pre`]: string("llama3"), [`${K}add_bos_token`]: bool(false) }), 0);
});

Deno.test("byte-level BPE: a space is put in front of a text, where the file says so, and taken away again", () => {
  const tokenizer = loadTokenizer(
    byteLevelMetadata(MERGES, TOKENS, { [`${K}add_space_prefix`]: bool(true) }),
  );
  const the = tokenizer.tokenId("\u0120the")!;
  assertEquals(tokenizer.encode("the"), [the]);
  assertEquals(tokenizer.encode(" the"), [the], "one that has a space gets no second");
  assertEquals(tokenizer.decode([the, the]), "the the");
  assertEquals(tokenizer.decode([the], { continuing: true }), " the");
});

Deno.test("byte-level BPE: what is added to a vocabulary stands for its text, in the alphabet or not", () => {
  const tokenizer = loadTokenizer(byteLevelMetadata(MERGES, TOKENS));
  assertEquals(tokenizer.encode("a<think>  b"), [97, id("<think>"), id("  "), 98]);
  assertEquals(tokenizer.decode([id("<think>"), id("  "), id("[PAD1]")]), "<think>  [PAD1]");
  assertEquals(tokenizer.decode([id("漢字")]), "漢字", "no character of the alphabet: as it is");
  assertEquals(tokenizer.encode("漢字").length, 6);
  assertEquals(tokenizer.kind, "gpt2");
  assertEquals(tokenizer.preTokenizer, "gpt-2");
  assertEquals(tokenizer.tokenId("<think>"), id("<think>"));
  assertEquals(tokenizer.tokenId("there is none"), undefined);
});

Deno.test("byte-level BPE: bytes that are no UTF-8 keep their values, alone and among others", () => {
  const tokenizer = loadTokenizer(byteLevelMetadata(MERGES, TOKENS));
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const tokens = tokenizer.encodeBytes(bytes);
      const back = tokens.flatMap((token) => [...tokenizer.tokenBytes(token)]);
      assertEquals(back, [...bytes]);
    }),
    { numRuns: RUNS },
  );
  assertEquals(tokenizer.encode("a\ud800b"), tokenizer.encode("a\ufffdb"), "a lone surrogate");
});

const fragment = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "grapheme" }),
  fc.constantFrom(
    ..."<|bos|>,<|im_end|>,<think>,  ,[PAD1],§, the,\u0120the,don't,1234567,漢字,สวัสดี,e\u0301,\u1f468\u200d"
      .split(","),
    "\n\n",
    "👨‍👩‍👧",
    "\u0085",
    "\ufeff",
    "<|im_",
    "end|>",
  ),
);
const text = fc.array(fragment, { maxLength: 10 }).map((parts) => parts.join(""));

for (
  const preTokenizer of [
    "default",
    "gpt-2",
    "llama-bpe",
    "deepseek-v3",
    "falcon",
    "superbpe",
    "kimi-k2",
  ]
) {
  Deno.test(`byte-level BPE: decoding gives any text back, streamed as well (${preTokenizer})`, () => {
    const tokenizer = loadTokenizer(byteLevelMetadata(MERGES, TOKENS), { preTokenizer });
    fc.assert(
      fc.property(text, fc.boolean(), (text, parseSpecial) => {
        const tokens = tokenizer.encode(text, { parseSpecial });
        const wanted = text.toWellFormed();
        assertEquals(tokenizer.decode(tokens, { skipSpecial: false }), wanted);
        const decoder = tokenizer.decoder({ skipSpecial: false });
        const pieces = [...tokens.map((token) => decoder.push(token)), decoder.flush()];
        assertEquals(pieces.join(""), wanted);
        for (const piece of pieces) assert(piece.isWellFormed());
      }),
      { numRuns: RUNS },
    );
  });
}

function assertRefused(load: () => unknown, code: string, ...words: string[]): void {
  const error = assertThrows(load, M40Error);
  assertEquals(error.code, code, error.message);
  for (const word of words) assertStringIncludes(error.message, word);
  assert(error.message.length < 1000, "a damaged file does not fill the screen");
}

Deno.test("byte-level BPE: merges that are missing or no two texts are refused in words", () => {
  const load = (merges: MetadataEntry | undefined) =>
    loadTokenizer(byteLevelMetadata([], [], { [`${K}merges`]: merges }));
  assertRefused(() => load(undefined), "invalid_model", `${K}merges is missing`);
  assertRefused(() => load(uint32(1)), "invalid_model", `${K}merges`);
  for (const bad of ["ab", "a ", "", " ", " a"]) {
    assertRefused(
      () => load(strings(["a b", bad])),
      "invalid_model",
      "Merge 1",
      JSON.stringify(bad),
    );
  }
  const huge = "x".repeat(5_000_000);
  assertRefused(() => load(strings([huge])), "invalid_model", "Merge 0", "xxx");
  load(strings([`${huge} ${huge}`, "a b"]));
});

Deno.test("byte-level BPE: merges of texts that are no tokens are passed through, as in llama.cpp", () => {
  // "ab" is no token, but "abc" is, and is reached through it; what stays "ab" is spelled in bytes.
  const tokenizer = loadTokenizer(byteLevelMetadata([], ["abc"], {
    [`${K}merges`]: strings(["a b", "ab c", "x y", "a b"]),
  }));
  assertEquals(tokenizer.encode("abc"), [256]);
  assertEquals(tokenizer.encode("abd"), [97, 98, 100]);
  assertEquals(tokenizer.encode("xyz"), [120, 121, 122]);
});

Deno.test("byte-level BPE: of tokens with one text the first is used, and empty ones never", () => {
  const tokenizer = loadTokenizer(byteLevelMetadata([], ["ab", "ab", ""], {
    [`${K}merges`]: strings(["a b"]),
  }));
  assertEquals(tokenizer.encode("ab"), [256]);
  assertEquals(tokenizer.decode([256, 257, 258]), "abab");
});

Deno.test("byte-level BPE: a byte without a token is the unknown token, or an error that names it", () => {
  const tokens = (unknown: boolean) => [
    { text: "<unk>", type: unknown ? 2 : 1 },
    ...BYTE_CHARACTERS.filter((character) => character !== "z"),
  ];
  const load = (unknown: boolean) =>
    loadTokenizer(vocabularyMetadata(tokens(unknown), {
      [`${K}model`]: string("gpt2"),
      [`${K}pre`]: string("gpt-2"),
      [`${K}merges`]: strings(["z z"]),
      [`${K}scores`]: undefined,
      [`${K}bos_token_id`]: undefined,
      [`${K}eos_token_id`]: undefined,
      [`${K}unknown_token_id`]: undefined,
    }));
  assertEquals(load(true).encode("zz"), [0, 0]);
  assertRefused(() => load(false).encode("azz"), "invalid_request", "0x7a");
  assertEquals(load(false).encode("ay").length, 2);
});

Deno.test("byte-level BPE: a byte that UTF-8 never has, and the vocabulary neither, is U+FFFD", () => {
  // As in DeepSeek's vocabularies, which have added tokens with these texts instead.
  const tokens = BYTE_CHARACTERS.map((text, byte) => ({ text, type: byte > 0xf4 ? 4 : 1 }));
  const tokenizer = loadTokenizer(vocabularyMetadata(tokens, {
    [`${K}model`]: string("gpt2"),
    [`${K}pre`]: string("gpt-2"),
    [`${K}merges`]: strings([]),
    [`${K}scores`]: undefined,
    [`${K}bos_token_id`]: undefined,
    [`${K}eos_token_id`]: undefined,
    [`${K}unknown_token_id`]: undefined,
  }));
  assertEquals(tokenizer.encodeBytes(Uint8Array.of(0x61, 0xff, 0xc0)), [
    0x61,
    0xef,
    0xbf,
    0xbd,
    0xc0,
  ]);
  assertEquals(tokenizer.encode("\u00ff"), [0xff], "the added token");
});

Deno.test("byte-level BPE: control and unknown tokens are never merged into, nor bytes' names", () => {
  const tokenizer = loadTokenizer(byteLevelMetadata([], [
    { text: "ab", type: 3 },
    { text: "<0x41>", type: 6 },
  ], { [`${K}pre`]: string("llama3"), [`${K}merges`]: strings(["a b"]) }));
  assertEquals(tokenizer.encode("ab"), [97, 98]);
  assert(!tokenizer.encode("<0x41>").includes(257));
});

Deno.test("pre-tokenizer: an unknown name is refused, with the nearest ones and what to do", () => {
  const metadata = byteLevelMetadata([], [], { [`${K}pre`]: string("qwen3") });
  assertRefused(
    () => loadTokenizer(metadata),
    "unsupported",
    '"qwen3"',
    '"qwen2"',
    "--pre-tokenizer NAME",
  );
  assertEquals(loadTokenizer(metadata, { preTokenizer: "qwen2" }).preTokenizer, "qwen2");
  assertRefused(
    () => loadTokenizer(metadata, { preTokenizer: "llama-4" }),
    "unsupported",
    '"llama-4"',
    '"qwen3"',
    '"llama4"',
  );
  assertRefused(
    () => loadTokenizer(byteLevelMetadata([], [], { [`${K}pre`]: string("x".repeat(1e6)) })),
    "unsupported",
  );
});

Deno.test("pre-tokenizer: one that is asked for where there is none to choose is refused", () => {
  for (const metadata of [vocabularyMetadata(BASIC), characterMetadata([])]) {
    assertRefused(
      () => loadTokenizer(metadata, { preTokenizer: "gpt-2" }),
      "invalid_request",
      metadata.string(`${K}model`),
    );
  }
  assertEquals(
    loadTokenizer(characterMetadata([]), { preTokenizer: "gemma4" }).preTokenizer,
    "gemma4",
  );
});

Deno.test("pre-tokenizer: a file that names none gets llama.cpp's, with a warning", () => {
  const warnings: string[] = [];
  const onWarning = (warning: string) => warnings.push(warning);
  const metadata = byteLevelMetadata([], [], { [`${K}pre`]: undefined });
  assertEquals(loadTokenizer(metadata, { onWarning }).preTokenizer, "default");
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0], "--pre-tokenizer");
  loadTokenizer(metadata, { onWarning, preTokenizer: "gpt-2" });
  loadTokenizer(byteLevelMetadata([]), { onWarning });
  assertEquals(warnings.length, 1, "nothing to warn of");
});

Deno.test("byte-level BPE: words that come again are the same, after millions of others as well", async () => {
  const path = new URL("../../tests/data/tokenizer/byte-level.gguf", import.meta.url).pathname;
  const { metadata } = await readGguf(path);
  const tokenizer = loadTokenizer(metadata, { preTokenizer: "gpt-2" });
  const word = " extraordinarily";
  const wanted = tokenizer.encode(word);
  let text = "";
  for (let i = 0; i < 150_000; i++) text += ` w${(i * 2654435761 % 2 ** 32).toString(36)}`;
  const once = tokenizer.encode(text);
  assertEquals(tokenizer.encode(word), wanted);
  assertEquals(tokenizer.encode(text).length, once.length);
  assert(tokenizer.decode(once) === text);
});
