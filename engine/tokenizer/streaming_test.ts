import { assertEquals } from "@std/assert";
import { loadTokenizer } from "./load.ts";
import { BASIC, bool, vocabularyMetadata } from "../../tests/fixtures/tokenizer_metadata.ts";

const TOKENS = [...BASIC, "▁", "▁a", "b", { text: "<x>", type: 4 }]; // 259, 260, 261, 262
const tokenizer = loadTokenizer(vocabularyMetadata(TOKENS));
const byte = (value: number) => 3 + value;

Deno.test("streaming decoder: a character comes out with its last byte, not before", () => {
  const decoder = tokenizer.decoder();
  const pushed = [0xf0, 0x9f, 0x98, 0x80, 0xc3, 0xa9, 0x61].map((b) => decoder.push(byte(b)));
  assertEquals(pushed, ["", "", "", "😀", "", "é", "a"]);
  assertEquals(decoder.flush(), "");
});

Deno.test("streaming decoder: U+FFFD comes out when a character can no longer become complete", () => {
  const decoder = tokenizer.decoder();
  assertEquals(decoder.push(byte(0xe2)), "");
  assertEquals(decoder.push(byte(0x82)), "");
  assertEquals(decoder.push(261), "\ufffdb");
  assertEquals(decoder.push(byte(0xff)), "\ufffd");
  assertEquals(decoder.push(byte(0xc3)), "");
  assertEquals(decoder.push(byte(0xc3)), "\ufffd");
  assertEquals(decoder.flush(), "\ufffd");
  assertEquals(decoder.flush(), "");
});

Deno.test("streaming decoder: a byte order mark is text like any other", () => {
  assertEquals(tokenizer.decode([0xef, 0xbb, 0xbf].map(byte)), "\ufeff");
});

Deno.test("streaming decoder: the space prefix is dropped once, behind control tokens too, and never when continuing", () => {
  assertEquals(tokenizer.decode([260, 260]), "a a");
  assertEquals(tokenizer.decode([1, 260, 260]), "a a");
  assertEquals(tokenizer.decode([1, 260, 2], { skipSpecial: false }), "<s>a</s>");
  assertEquals(tokenizer.decode([259, 260]), " a");
  assertEquals(tokenizer.decode([261, 260]), "b a");
  assertEquals(tokenizer.decode([260, 262, 260]), "a<x>a");
  assertEquals(tokenizer.decode([260, 260], { continuing: true }), " a a");
  assertEquals(tokenizer.decode([1, 260, 262, 260], { continuing: true }), " a<x> a");
  const unprefixed = loadTokenizer(
    vocabularyMetadata(TOKENS, { "tokenizer.ggml.add_space_prefix": bool(false) }),
  );
  assertEquals(unprefixed.decode([1, 260, 260]), " a a");
});

Deno.test("streaming decoder: two decoders of one tokenizer do not share what they hold", () => {
  const [one, two] = [tokenizer.decoder(), tokenizer.decoder()];
  assertEquals(one.push(byte(0xc3)), "");
  assertEquals(two.push(byte(0xa9)), "\ufffd");
  assertEquals(one.push(byte(0xa9)), "é");
});

Deno.test("tokenizer: the bytes of control and unknown tokens are none, of all others what they stand for", () => {
  assertEquals([0, 1, 2].map((id) => tokenizer.tokenBytes(id).length), [0, 0, 0]);
  assertEquals([...tokenizer.tokenBytes(byte(0xe9))], [0xe9]);
  assertEquals(new TextDecoder().decode(tokenizer.tokenBytes(260)), " a");
  assertEquals(new TextDecoder().decode(tokenizer.tokenBytes(262)), "<x>");
  assertEquals([tokenizer.tokenText(260), tokenizer.tokenText(1)], ["▁a", "<s>"]);
});
