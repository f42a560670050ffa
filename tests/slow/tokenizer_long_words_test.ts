import { assert, assertEquals } from "@std/assert";
import { readGguf } from "../../engine/gguf/reader.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";
import { PreTokenizer } from "../../engine/tokenizer/pre_tokenizer.ts";
import { PRE_TOKENIZERS } from "../../engine/tokenizer/pre_tokenizers.ts";

/** What hostile text is made of: one word, or white space, or signs, without an end. */
const UNITS = [
  "a",
  "A",
  "1",
  " ",
  "\n",
  " \n",
  "!",
  "漢",
  "ก",
  "😀",
  "\u0301",
  "\u0001",
  "x\u0301",
  "'s",
  "1a",
];
/** What comes behind it, so that an expression that looks ahead is disappointed at the end. */
const TAILS = ["", "1", "ก", "!"];
/** In the square of this length an expression takes longer than {@link HANGS_MS}, else some milliseconds. */
const LENGTH = 100_000;
const HANGS_MS = 5_000;

Deno.test("pre-tokenizers: no name takes the square of the length of a text", () => {
  const seen = new Set();
  for (const [name, rules] of PRE_TOKENIZERS) {
    if (seen.has(rules)) continue;
    seen.add(rules);
    const preTokenizer = new PreTokenizer(rules.cuts);
    for (const unit of UNITS) {
      for (const tail of TAILS) {
        const text = unit.repeat(LENGTH / unit.length) + tail;
        const what = `${name}: ${JSON.stringify(unit)} and ${JSON.stringify(tail)}`;
        const start = performance.now();
        let length = 0;
        preTokenizer.forEach(text, (word) => length += word.length);
        assertEquals(length, text.length, what);
        assert(performance.now() - start < HANGS_MS, what);
      }
    }
  }
});

Deno.test("pre-tokenizers: a word that V8's memory for expressions does not hold is cut, and nothing is lost", () => {
  const text = `${"漢".repeat(9_000_000)} ${"😀".repeat(9_000_000)}\u{1f600}`;
  for (const name of ["gpt-2", "deepseek-v3"]) {
    const lengths: number[] = [];
    let first = "";
    new PreTokenizer(PRE_TOKENIZERS.get(name)!.cuts).forEach(text, (word) => {
      first ||= word;
      lengths.push(word.length);
      assert(word.isWellFormed(), "no pair of surrogates is torn apart");
    });
    assertEquals(lengths.reduce((sum, length) => sum + length, 0), text.length);
    assert(lengths.length < 60, "long words stay long");
  }
});

Deno.test("byte-level BPE: a word of a million characters is merged as short ones are", async () => {
  const path = new URL("../data/tokenizer/byte-level.gguf", import.meta.url).pathname;
  const tokenizer = loadTokenizer((await readGguf(path)).metadata, { preTokenizer: "llama-bpe" });
  for (const unit of ["a", "=", "é", "abcdefghij"]) {
    const text = unit.repeat(1_000_000 / unit.length);
    const tokens = tokenizer.encode(text);
    assert(tokenizer.decode(tokens) === text);
    assertEquals(tokenizer.encode(text.slice(0, 2_000)).slice(0, 50), tokens.slice(0, 50));
  }
});
