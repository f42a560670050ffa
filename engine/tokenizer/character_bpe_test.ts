import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { loadTokenizer } from "./load.ts";
import { mergeByDefinition } from "../../tests/fixtures/merge_by_definition.ts";
import {
  bool,
  characterMetadata,
  string,
  strings,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const RUNS = Number(Deno.env.get("M40_FUZZ_RUNS") ?? 300);
const K = "tokenizer.ggml.";
const RAW = { addSpecial: false };

Deno.test("BPE over characters: merges come in the order of their rank, across words where a merge does", () => {
  const made = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 16 })
    .map((pairs) => {
      const made = ["a", "b", "é", "\u2581", "\u2581", "a"];
      return pairs.map(([left, right]) => {
        const parts = [made[left % made.length], made[right % made.length]];
        made.push(parts.join(""));
        return parts.join(" ");
      });
    });
  const words = fc.string({ unit: fc.constantFrom("a", "b", "é", " ", "  "), maxLength: 120 });
  const kinds = new Set<boolean>();
  fc.assert(
    fc.property(made, words, (merges, text) => {
      const tokenizer = loadTokenizer(characterMetadata(merges));
      const wanted = mergeByDefinition([...text.replaceAll(" ", "\u2581")], merges);
      const got = tokenizer.encode(text, RAW);
      assertEquals(got.map((id) => tokenizer.tokenText(id)), wanted);
      assertEquals(tokenizer.decode(got), text);
      kinds.add(merges.some((merge) => /[^\u2581]\u2581/.test(merge.replace(" ", ""))));
    }),
    { numRuns: RUNS },
  );
  assertEquals(kinds.size, 2, "some merges went across words, and some did not");
});

Deno.test("BPE over characters: lines are apart, breaks of lines are whole, strangers are bytes, BOS always", () => {
  const tokenizer = loadTokenizer(
    characterMetadata(["a b"], ["\n\n", "\n\n\n"], { [`${K}add_bos_token`]: bool(false) }),
  );
  const texts = (text: string) => tokenizer.encode(text).map((id) => tokenizer.tokenText(id));
  assertEquals(texts("ab\n\nab"), ["<bos>", "ab", "\n\n", "ab"], "no merge makes the breaks");
  assertEquals(texts("a\n\n\n\n"), ["<bos>", "a", "\n", "\n", "\n", "\n"]);
  assertEquals(texts("漢"), ["<bos>", "<0xE6>", "<0xBC>", "<0xA2>"]);
  assertEquals(
    tokenizer.encodeBytes(Uint8Array.of(0x61, 0xff), RAW).map((id) => tokenizer.tokenText(id)),
    ["a", "<0xFF>"],
  );
  assertEquals(tokenizer.preTokenizer, "gemma4");
  assertEquals(tokenizer.kind, "gemma4");
});

Deno.test("BPE over characters: sarvam-moe merges breaks of lines like other characters, and puts no BOS where none is asked for", () => {
  const of = (pre: string) =>
    loadTokenizer(
      characterMetadata(["a b"], ["\n\n"], {
        [`${K}model`]: string("gpt2"),
        [`${K}pre`]: string(pre),
        [`${K}add_bos_token`]: bool(false),
      }),
    );
  const texts = (pre: string, text: string) => {
    const tokenizer = of(pre);
    return tokenizer.encode(text).map((id) => tokenizer.tokenText(id));
  };
  assertEquals(texts("sarvam-moe", "ab\n\nab b"), ["ab", "\n", "\n", "ab", "\u2581", "b"]);
  assertEquals(texts("gemma4", "ab\n\nab b"), ["<bos>", "ab", "\n\n", "ab", "\u2581", "b"]);
  assertEquals(texts("sarvam-moe", "漢"), ["<0xE6>", "<0xBC>", "<0xA2>"]);
  assertEquals(of("sarvam-moe").decode(of("sarvam-moe").encode("ab\n\nab b")), "ab\n\nab b");
});

Deno.test("BPE over characters: whitespace takes words as they are, leaves out what is between, and can be lowercase", () => {
  const of = (lowercase: boolean) =>
    loadTokenizer(vocabularyMetadata(
      [{ text: "<unk>", type: 2 }, "a", "b", "B", "好", "你", "\u2581", "ab", "你好"],
      {
        [`${K}model`]: string("whitespace"),
        [`${K}pre`]: string("whitespace"),
        [`${K}merges`]: strings(["a b", "你 好"]),
        [`${K}scores`]: undefined,
        [`${K}bos_token_id`]: undefined,
        [`${K}eos_token_id`]: undefined,
        [`${K}normalizer.lowercase`]: bool(lowercase),
      },
    ));
  const texts = (text: string, lowercase = false) => {
    const tokenizer = of(lowercase);
    return tokenizer.encode(text).map((id) => tokenizer.tokenText(id));
  };
  assertEquals(texts("ab  a b\n\t你好ab\u3000"), ["ab", "a", "b", "你好", "ab"]);
  assertEquals(texts("aB"), ["a", "B"]);
  assertEquals(texts("aB", true), ["ab"]);
  // A mark is a character like others, not a space.
  assertEquals(texts("a\u2581b c"), ["a", "\u2581", "b", "<unk>"]);
  assertEquals(of(false).decode(of(false).encode("a\u2581b")), "a\u2581b");
});
