import { assert, assertEquals } from "@std/assert";
import { formatOf } from "../chat/chat_format.ts";
import { Constraints } from "./constraints.ts";
import type { Steering } from "../sampling/steering.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import {
  BASIC,
  bool,
  type TokenInput,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const CONTROL = 3;
const NORMAL = 1;
const HARMONY = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];

/** Bytes, and tokens with these texts. */
function tokenizerWith(texts: string[], type: number): Tokenizer {
  const tokens: TokenInput[] = [...BASIC, ...texts.map((text) => ({ text, type, score: 0 }))];
  return loadTokenizer(
    vocabularyMetadata(tokens, { "tokenizer.ggml.add_space_prefix": bool(false) }),
  );
}

function encode(tokenizer: Tokenizer, text: string): number[] {
  return tokenizer.encode(text, { addSpecial: false, parseSpecial: true });
}

/** What holds an answer to "yes" or "no" behind a prompt. */
function steeringAfter(tokenizer: Tokenizer, prompt: string, template = prompt): Steering {
  const format = formatOf(tokenizer, { template, text: prompt, tokens: encode(tokenizer, prompt) });
  return new Constraints(tokenizer, tokenizer.vocabSize).steering(
    { kind: "choice", texts: ["yes", "no"] },
    format.content(),
  );
}

/** The texts of the tokens that may come after an output; "END" for one that ends it. */
function allowedAfter(tokenizer: Tokenizer, steering: Steering, output: string): Set<string> {
  const allowed = steering.allowed!(encode(tokenizer, output));
  assert(allowed !== undefined, "anything may come");
  const texts = new Set<string>();
  for (let token = 0; token < tokenizer.vocabSize; token++) {
    if (((allowed.mask[token >> 5] >>> (token & 31)) & 1) === 0) continue;
    texts.add(tokenizer.endTokens.has(token) ? "END" : tokenizer.tokenText(token));
  }
  return texts;
}

const byte = (text: string) =>
  `<0x${text.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}>`;

Deno.test("reasoning that the prompt has opened is free but for its end; the answer begins behind the tag and white space", () => {
  const tokenizer = tokenizerWith([], NORMAL);
  const steering = steeringAfter(tokenizer, "Q<think>\n");
  for (const output of ["", "hm", "hm</thin", "yes"]) {
    const allowed = allowedAfter(tokenizer, steering, output);
    assert(allowed.has(byte("x")) && allowed.has(byte("<")) && !allowed.has("END"), output);
  }
  const begin = [byte("n"), byte("y")];
  const space = ["\t", "\n", "\r", " "].map(byte);
  const after = (output: string) => [...allowedAfter(tokenizer, steering, output)].sort();
  assertEquals(after("hm</think>"), [...space, ...begin].sort());
  assertEquals(after("hm</think>\n\n"), [...space, ...begin].sort());
  assertEquals(after("hm</think>" + "\n".repeat(8)), begin);
  assertEquals(after("hm</think>\n\nye"), [byte("s")]);
  assertEquals(after("hm</think>\n\nyes"), ["END"]);
  // Asked again for what came before: it follows from the tokens alone.
  assertEquals(after("other</think>n"), [byte("o")]);
});

Deno.test("what a token has behind the tag that ends the reasoning is the start of the answer", () => {
  const tokenizer = tokenizerWith(["k>\n\ny", "k>x"], NORMAL);
  const steering = steeringAfter(tokenizer, "Q<think>\n");
  const [good, bad] = ["k>\n\ny", "k>x"].map((text) => tokenizer.tokenId(text)!);
  const started = encode(tokenizer, "hm</thin");
  const { mask } = steering.allowed!([...started, good])!;
  const next = encode(tokenizer, "e")[0];
  assertEquals((mask[next >> 5] >>> (next & 31)) & 1, 1);
  let message = "";
  try {
    steering.allowed!([...started, bad]);
  } catch (error) {
    message = (error as Error).message;
  }
  assert(/its constraint does not allow/.test(message), message);
});

Deno.test("a model that was not asked to reason may start to by its tag, and is free then", () => {
  const tokenizer = tokenizerWith(["<think>", "</think>"], CONTROL);
  const steering = steeringAfter(tokenizer, "Q");
  const after = (output: string) => [...allowedAfter(tokenizer, steering, output)].sort();
  assertEquals(after(""), [byte("n"), byte("y"), "<think>"].sort());
  assertEquals(after("y"), [byte("e")]);
  assert(after("<think>").includes(byte("x")) && !after("<think>").includes("END"));
  assert(after("<think>hm</think>").includes(byte("y")));
  assertEquals(after("<think>hm</think>\nno"), ["END"]);
});

Deno.test("a prompt that has closed its reasoning leaves no other: the grammar holds from the first token", () => {
  const tokenizer = tokenizerWith(["<think>", "</think>"], CONTROL);
  const steering = steeringAfter(tokenizer, "Q<think>\n\n</think>\n\n");
  assertEquals([...allowedAfter(tokenizer, steering, "")].sort(), [byte("n"), byte("y")]);
});

Deno.test("gpt-oss: the grammar holds for the message of the final channel alone", () => {
  const tokenizer = tokenizerWith(HARMONY, CONTROL);
  const steering = steeringAfter(
    tokenizer,
    "<|start|>user<|message|>Q<|end|><|start|>assistant",
    "<|channel|>",
  );
  for (const output of ["", "<|channel|>analysis<|message|>hm", "<|channel|>final"]) {
    const allowed = allowedAfter(tokenizer, steering, output);
    assert(allowed.has(byte("x")) && !allowed.has("END"), output);
  }
  const answer =
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>";
  assertEquals([...allowedAfter(tokenizer, steering, answer + "ye")], [byte("s")]);
  assertEquals([...allowedAfter(tokenizer, steering, answer + "yes")], ["END"]);
});
