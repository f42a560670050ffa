import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { loadTokenizer } from "../engine/tokenizer/tokenizer.ts";
import { BASIC, bool, string, vocabularyMetadata } from "./tokenizer_metadata.ts";

const NO_PREFIX = { "tokenizer.ggml.add_space_prefix": bool(false) };
const RAW = { addSpecial: false };

/** The definition, step by step: look for the best pair in the whole text, merge it, look again. */
function mergeSlowly(text: string, scores: Map<string, number>): string[] {
  const symbols = [...text];
  for (;;) {
    let best = -1;
    for (let i = 0; i + 1 < symbols.length; i++) {
      const score = scores.get(symbols[i] + symbols[i + 1]);
      if (score === undefined) continue;
      if (best < 0 || score > scores.get(symbols[best] + symbols[best + 1])!) best = i;
    }
    if (best < 0) return symbols;
    symbols.splice(best, 2, symbols[best] + symbols[best + 1]);
  }
}

Deno.test("tokenizer: merging by heap gives what merging by definition gives, for any vocabulary and text", () => {
  // Few letters, so that pairs overlap, and few scores, so that ties are common. Characters beyond the
  // BMP are two code units; a space mark within a token forbids to look at words one by one.
  const letter = fc.constantFrom("a", "b", "▁", "😀", "é");
  const token = fc.record({
    text: fc.array(letter, { minLength: 1, maxLength: 5 }).map((letters) => letters.join("")),
    score: fc.integer({ min: -4, max: 0 }),
  });
  const text = fc.array(letter, { maxLength: 40 }).map((letters) => letters.join(""));
  fc.assert(
    fc.property(
      fc.uniqueArray(token, { selector: (token) => token.text, minLength: 1, maxLength: 30 }),
      text,
      (tokens, text) => {
        const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, ...tokens], NO_PREFIX));
        const scores = new Map(tokens.map((token) => [token.text, token.score]));
        const wanted = mergeSlowly(text, scores).flatMap((symbol) =>
          scores.has(symbol) ? [symbol] : Array.from(
            new TextEncoder().encode(symbol),
            (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
          )
        );
        assertEquals(tokenizer.encode(text, RAW).map((id) => tokenizer.tokenText(id)), wanted);
      },
    ),
    { numRuns: Number(Deno.env.get("M40_FUZZ_RUNS") ?? 2000) },
  );
});

Deno.test("tokenizer: text never becomes a control, byte or unknown token by merging", () => {
  const tokens = [
    "<",
    ">",
    "s",
    "s>",
    "0",
    "x",
    "4",
    "1",
    "<0",
    "x4",
    "1>",
    "<0x4",
    "un",
    "<un",
    "k>",
  ];
  const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, ...tokens], NO_PREFIX));
  for (const text of ["<s>", "<0x41>", "<unk>"]) {
    const encoded = tokenizer.encode(text, RAW);
    assertEquals(encoded.some((id) => id < 3 || tokenizer.tokenText(id) === text), false, text);
    assertEquals(tokenizer.decode(encoded), text);
  }
});

Deno.test("tokenizer: a long run of one character is merged in balance, left to right", () => {
  const tokenizer = loadTokenizer(
    vocabularyMetadata([...BASIC, "a", { text: "aa", score: -1 }, { text: "aaaa", score: -2 }], {
      ...NO_PREFIX,
    }),
  );
  const encoded = tokenizer.encode("a".repeat(100_003), RAW);
  assertEquals(encoded.length, 25_002);
  assertEquals(encoded.slice(-3), [261, 260, 259]);
});

Deno.test("tokenizer: invalid UTF-8 becomes byte tokens, and what is valid around it is merged", () => {
  const tokenizer = loadTokenizer(
    vocabularyMetadata([...BASIC, "a", "b", "ab", "é", "aé"], NO_PREFIX),
  );
  const encode = (...bytes: number[]) =>
    tokenizer.encodeBytes(Uint8Array.from(bytes), RAW).map((id) => tokenizer.tokenText(id)).join(
      " ",
    );
  assertEquals(encode(0x61, 0x62, 0xff, 0x61, 0x62), "ab <0xFF> ab");
  assertEquals(encode(0x61, 0xc3, 0xa9, 0xc3), "aé <0xC3>");
  assertEquals(encode(0xc3, 0x61, 0x62), "<0xC3> ab");
  assertEquals(encode(0x80, 0xbf), "<0x80> <0xBF>");
  assertEquals(encode(0xed, 0xa0, 0x80), "<0xED> <0xA0> <0x80>");
  assertEquals(encode(0xf0, 0x9f, 0x98), "<0xF0> <0x9F> <0x98>");
});

Deno.test("tokenizer: user-defined tokens are always found, the longest first, and text after them gets its prefix", () => {
  const tokens = [
    ...BASIC, // 0 to 258
    "▁", // 259
    "a", // 260
    { text: "<x>", type: 4 }, // 261
    { text: "<x><y", type: 4 }, // 262
    { text: "a<x", type: 4 }, // 263
    { text: "<c>", type: 3 }, // 264
  ];
  const tokenizer = loadTokenizer(vocabularyMetadata(tokens));
  assertEquals(tokenizer.encode("<x>", RAW), [261]);
  // The longer one wins, although the other begins earlier.
  assertEquals(tokenizer.encode("a<x><y", RAW), [259, 260, 262]);
  // Of equal length the lower id wins.
  assertEquals(tokenizer.encode("a<x>a", RAW), [259, 260, 261, 259, 260]);
  assertEquals(tokenizer.encode("a<c>a", RAW).includes(264), false);
  const parsed = tokenizer.encode("a<c>a", { addSpecial: false, parseSpecial: true });
  assertEquals(parsed, [259, 260, 264, 259, 260]);
  assertEquals(tokenizer.decode(parsed, { skipSpecial: false }), "a<c>a");
  assertEquals(tokenizer.decode(parsed), "aa");
});

Deno.test("tokenizer: Phi-3's special tokens take the white space after them along", () => {
  const tokens = [...BASIC, "▁", "a", { text: "<|end|>", type: 3 }];
  const options = { addSpecial: false, parseSpecial: true };
  const text = "<|end|> \n\ta<s> a";
  const phi3 = loadTokenizer(vocabularyMetadata(tokens, { "general.name": string("Phi 3") }));
  assertEquals(phi3.encode(text, options).slice(0, 2), [261, 259]);
  assertEquals(phi3.encode(text, options).length > 8, true);
  const named = loadTokenizer(vocabularyMetadata(tokens, { "general.name": string("Phi-3 mini") }));
  assertEquals(named.encode(text, options), [261, 259, 260, 1, 259, 259, 260]);
});
