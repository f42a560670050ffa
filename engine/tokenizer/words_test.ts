import { assertEquals } from "@std/assert";
import { bytesOfAlphabet, textOfBytes } from "./byte_alphabet.ts";
import { PreTokenizer } from "./pre_tokenizer.ts";
import { type Cut, PRE_TOKENIZERS, type PreTokenizerRules } from "./pre_tokenizers.ts";
import { bytesToText, writeBytes } from "./utf8.ts";
import expected from "../../tests/data/tokenizer/words.json" with { type: "json" };

/** What cuts make of a text. */
function split(cuts: readonly Cut[], text: string): string[] {
  const words: string[] = [];
  new PreTokenizer(cuts).forEach(text, (word) => words.push(word));
  return words;
}

/** The words of a text; a byte of a character that is cut apart as `bytesToText` has it. */
function wordsOf(rules: PreTokenizerRules, text: string): string[] {
  const words = split(rules.cuts, text);
  const { byteCuts } = rules;
  if (byteCuts === undefined) return words;
  return words.flatMap((word) => {
    const bytes = new Uint8Array(3 * word.length);
    const inAlphabet = textOfBytes(bytes.subarray(0, writeBytes(word, bytes)));
    return split(byteCuts, inAlphabet).map((part) => bytesToText(bytesOfAlphabet(part)!));
  });
}

for (const [what, text] of Object.entries(expected.texts)) {
  Deno.test(`pre-tokenizers: ${what}: cut by every name as Hugging Face's tokenizers cut`, () => {
    const compared = new Set<string>();
    for (const [names, cuts] of Object.entries(expected.words)) {
      for (const name of names.split(" ")) {
        compared.add(name);
        const words = wordsOf(PRE_TOKENIZERS.get(name)!, text);
        assertEquals(words, cuts[what as keyof typeof cuts], name);
      }
    }
    const others = [...PRE_TOKENIZERS].filter(([name, rules]) =>
      !compared.has(name) && !rules.characters
    );
    assertEquals(others, [], "every name is compared");
  });
}

Deno.test("pre-tokenizers: a lone byte is a word, or part of one of signs, and is never lost", () => {
  const text = bytesToText(Uint8Array.of(0x61, 0xff, 0x20, 0xfe, 0xc3, 0x31, 0x0a, 0x80));
  for (const [name, { cuts }] of PRE_TOKENIZERS) {
    assertEquals(split(cuts, text).join(""), text, name);
  }
  assertEquals(wordsOf(PRE_TOKENIZERS.get("gpt-2")!, "a\udcff b\udcff\udcfe1"), [
    "a",
    "\udcff",
    " b",
    "\udcff\udcfe",
    "1",
  ]);
});
