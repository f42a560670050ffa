import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { loadTokenizer } from "./load.ts";
import {
  BASIC,
  bool,
  string,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const NO_PREFIX = { "tokenizer.ggml.add_space_prefix": bool(false) };
const RAW = { addSpecial: false };
const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 2000);

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
    { numRuns: RUNS },
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

/** llama.cpp's order of search, step by step: each token, the longest first, through all that is left. */
function splitSlowly(text: string, tokens: { text: string }[]): string[] {
  let parts = [{ text, isToken: false }];
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  for (const token of tokens.toSorted((a, b) => bytes(b.text) - bytes(a.text))) {
    parts = parts.flatMap((part) =>
      part.isToken ? [part] : part.text.split(token.text).flatMap((text, i) => [
        ...(i > 0 ? [{ text: token.text, isToken: true }] : []),
        ...(text === "" ? [] : [{ text, isToken: false }]),
      ])
    );
  }
  return parts.map((part) => part.isToken ? `[${part.text}]` : part.text);
}

Deno.test("tokenizer: special tokens that overlap are found in llama.cpp's order, for any set and text", () => {
  const letters = fc.array(fc.constantFrom("a", "b", "é", "😀"), { minLength: 1, maxLength: 4 })
    .map((letters) => letters.join(""));
  const text = fc.array(letters, { maxLength: 20 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(
      fc.uniqueArray(letters, { minLength: 1, maxLength: 12 }),
      text,
      (texts, text) => {
        const tokens = texts.map((text) => ({ text, type: 4 }));
        const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, ...tokens], NO_PREFIX));
        let got = "";
        for (const id of tokenizer.encode(text, RAW)) {
          got += id < BASIC.length ? tokenizer.tokenText(id) : `[${tokenizer.tokenText(id)}]`;
        }
        const wanted = splitSlowly(text, tokens).map((part) =>
          part.startsWith("[") ? part : Array.from(
            new TextEncoder().encode(part),
            (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
          ).join("")
        ).join("");
        assertEquals(got, wanted);
      },
    ),
    { numRuns: RUNS },
  );
});

Deno.test("tokenizer: merging does not confuse pairs, however many different ones a text has", () => {
  // 160,000 pairs, a third of them tokens of equal score that merge no further: left to right.
  const letters = Array.from({ length: 400 }, (_, i) => String.fromCodePoint(0x4e00 + i));
  const merges = (i: number, j: number) => (i * 7 + j) % 3 === 0;
  const pairs = letters.flatMap((a, i) => letters.filter((_, j) => merges(i, j)).map((b) => a + b));
  const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, ...letters, ...pairs], NO_PREFIX));
  let state = 1;
  const indices = Array.from({ length: 100_000 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % letters.length;
  });
  const wanted: string[] = [];
  for (let i = 0; i < indices.length; i++) {
    const isPair = i + 1 < indices.length && merges(indices[i], indices[i + 1]);
    wanted.push(letters[indices[i]] + (isPair ? letters[indices[++i]] : ""));
  }
  const encoded = tokenizer.encode(indices.map((i) => letters[i]).join(""), RAW);
  assertEquals(encoded.map((id) => tokenizer.tokenText(id)), wanted);
});
