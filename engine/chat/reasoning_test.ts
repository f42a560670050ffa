import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { ChatMessage } from "./conversation.ts";
import { formatOf } from "./chat_format.ts";
import type { OutputFormat } from "./reasoning.ts";
import { REASONING_TAGS } from "./tagged_reasoning.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import type { Tokenizer } from "../tokenizer/tokenizer.ts";
import {
  BASIC,
  bool,
  type TokenInput,
  vocabularyMetadata,
} from "../../tests/fixtures/tokenizer_metadata.ts";

const CONTROL = 3;
const SPACE = "▁";

/** Bytes, and control tokens with these texts: every other text is spelled in several tokens. */
function tokenizerWith(...control: string[]): Tokenizer {
  return vocabularyWith(control, false);
}

function vocabularyWith(control: string[], addSpacePrefix: boolean): Tokenizer {
  const tokens: TokenInput[] = [
    ...BASIC,
    SPACE,
    ...control.map((text) => ({ text, type: CONTROL })),
  ];
  const changes = { "tokenizer.ggml.add_space_prefix": bool(addSpacePrefix) };
  return loadTokenizer(vocabularyMetadata(tokens, changes));
}

const HARMONY = ["<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>"];

function encode(tokenizer: Tokenizer, text: string): number[] {
  return tokenizer.encode(text, { addSpecial: false, parseSpecial: true });
}

function formatAfter(
  tokenizer: Tokenizer,
  prompt: string,
  more: { template?: string; unfinished?: ChatMessage } = {},
): OutputFormat {
  const tokens = encode(tokenizer, prompt);
  return formatOf(tokenizer, { template: prompt, text: prompt, tokens, ...more });
}

/** What comes of an output, and the pieces that it came in. */
function read(tokenizer: Tokenizer, format: OutputFormat, output: string, inline = false) {
  const reader = format.reader(inline);
  const decoder = tokenizer.decoder({ continuing: true });
  const pieces = encode(tokenizer, output).map((token) => {
    const before = reader.inReasoning;
    const piece = reader.push(token, decoder.push(token));
    return { ...piece, isReasoning: before || reader.inReasoning };
  });
  const last = reader.flush(decoder.flush());
  return {
    reasoning: pieces.map(({ reasoning }) => reasoning).join("") + last.reasoning,
    text: pieces.map(({ text }) => text).join("") + last.text,
    pieces,
  };
}

function separated(tokenizer: Tokenizer, prompt: string, output: string, inline = false) {
  const { reasoning, text } = read(tokenizer, formatAfter(tokenizer, prompt), output, inline);
  return { reasoning, text };
}

const PLAIN = tokenizerWith();

Deno.test("reasoning between tags at the start of an output is separated from content, whichever tags", () => {
  for (const { open, close } of REASONING_TAGS) {
    const output = `${open}\nfirst this\n${close}\n\nThe answer.`;
    const expected = { reasoning: "first this", text: "The answer." };
    assertEquals(separated(PLAIN, "Q", output), expected, open);
    assertEquals(
      separated(tokenizerWith(open, close), "Q", output),
      expected,
      `${open}, as tokens`,
    );
    assertEquals(
      separated(PLAIN, `Q${open}\n`, output.slice(open.length)),
      expected,
      `${open} in the prompt`,
    );
  }
});

Deno.test("a tag that is a control token and a word is one tag", () => {
  const tokenizer = tokenizerWith("<|channel>", "<channel|>");
  const output = "<|channel>thought\nhm\n<channel|>yes";
  assertEquals(separated(tokenizer, "Q", output), { reasoning: "hm", text: "yes" });
  assertEquals(separated(tokenizer, "Q", output, true), { reasoning: "", text: output });
  assertEquals(
    steered(tokenizer, "Q", "<|channel>thought\nabcd", 3),
    "<|channel>thought\nab<channel|>\n\ncd",
  );
});

Deno.test("a tag that the prompt has opened and the model writes once more is no reasoning", () => {
  assertEquals(separated(PLAIN, "Q<think>\n", "<think>\nhm</think>a"), {
    reasoning: "hm",
    text: "a",
  });
});

Deno.test("content that speaks of tags stays content", () => {
  const text = "Models write <think>thoughts</think> first.";
  assertEquals(separated(PLAIN, "Q", text), { reasoning: "", text });
  assertEquals(separated(PLAIN, "Q", `<think>a</think>${text}`), { reasoning: "a", text });
  // The template has closed an empty one, and a message that goes on has said something.
  const later = "<think>x</think>";
  assertEquals(separated(PLAIN, "Q<think>\n\n</think>\n\n", later), { reasoning: "", text: later });
  const unfinished = { role: "assistant" as const, content: "So" };
  const format = formatAfter(PLAIN, "Q So", { unfinished });
  assertEquals(read(PLAIN, format, later).text, later);
});

Deno.test("a message that goes on within its reasoning is reasoning until the tag", () => {
  const unfinished = { role: "assistant" as const, content: "<think>One" };
  const format = formatAfter(PLAIN, "Q<think>One", { unfinished });
  const { reasoning, text } = read(PLAIN, format, " two</think>three");
  assertEquals({ reasoning, text }, { reasoning: "two", text: "three" });
});

Deno.test("reasoning that is not ended is given out as such, and so is what only looked like a tag", () => {
  assertEquals(separated(PLAIN, "Q", "<think>on and on </thi"), {
    reasoning: "on and on </thi",
    text: "",
  });
  assertEquals(separated(PLAIN, "Q", "<thin"), { reasoning: "", text: "<thin" });
  assertEquals(separated(PLAIN, "Q", "  <b>"), { reasoning: "", text: "  <b>" });
  assertEquals(separated(PLAIN, "Q", ""), { reasoning: "", text: "" });
});

Deno.test("no piece of a stream has a part of a tag in it, however the output is cut", () => {
  const piece = fc.constantFrom(
    "<think>",
    "</think>",
    "<",
    "</thi",
    "think>",
    "a",
    " ",
    "\n",
    "é",
    "</",
  );
  fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
    const output = `<think>${pieces.join("")}`;
    const { reasoning, text } = read(PLAIN, formatAfter(PLAIN, "Q"), output);
    const end = output.indexOf("</think>");
    const inner = (end < 0 ? output : output.slice(0, end)).slice("<think>".length);
    assertEquals(reasoning, inner.trim());
    assertEquals(text, end < 0 ? "" : output.slice(end + "</think>".length).trimStart());
  }));
});

Deno.test("inline leaves an output as it came, with tags that are control tokens", () => {
  const output = "[THINK]hm [/THINK]\n\nyes";
  const tokenizer = tokenizerWith("[THINK]", "[/THINK]");
  assertEquals(separated(tokenizer, "Q", output, true), { reasoning: "", text: output });
  const harmony = tokenizerWith(...HARMONY);
  const said =
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes";
  const prompt = "<|start|>user<|channel|><|message|>Q<|end|><|start|>assistant";
  assertEquals(separated(harmony, prompt, said, true), { reasoning: "", text: said });
});

Deno.test("tokens of reasoning are known as such, the tags with them", () => {
  const tokenizer = tokenizerWith("<think>", "</think>");
  const { pieces } = read(tokenizer, formatAfter(tokenizer, "Q"), "<think>ab</think>cd");
  assertEquals(pieces.map(({ isReasoning }) => isReasoning), [
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

const CHANNELS = tokenizerWith(...HARMONY);
const CHANNEL_PROMPT = "<|start|>system<|message|><|channel|>?<|end|><|start|>assistant";

Deno.test("gpt-oss's channels: final is content, analysis and commentary are reasoning", () => {
  const said = [
    "<|channel|>analysis<|message|>Hm.<|end|>",
    "<|start|>assistant<|channel|>commentary<|message|>I look.<|end|>",
    "<|start|>assistant<|channel|>final<|message|>Yes. <|channel|>",
  ].join("").slice(0, -"<|channel|>".length);
  assertEquals(separated(CHANNELS, CHANNEL_PROMPT, said), {
    reasoning: "Hm.\nI look.",
    text: "Yes. ",
  });
  assertEquals(
    separated(CHANNELS, `${CHANNEL_PROMPT}<|channel|>final<|message|>So`, " far"),
    { reasoning: "", text: " far" },
  );
  assertEquals(separated(CHANNELS, `${CHANNEL_PROMPT}<|channel|>ana`, "lysis<|message|>x"), {
    reasoning: "x",
    text: "",
  });
});

Deno.test("gpt-oss's output that has no channel, or is no message at all, is content", () => {
  assertEquals(separated(CHANNELS, CHANNEL_PROMPT, "<|message|>Hi"), { reasoning: "", text: "Hi" });
  assertEquals(separated(CHANNELS, CHANNEL_PROMPT, "Hi there"), {
    reasoning: "",
    text: "Hi there",
  });
});

/** The tokens that come where the model would write `wish` and a budget ends its reasoning. */
function steered(tokenizer: Tokenizer, prompt: string, wish: string, budget: number): string {
  const steering = formatAfter(tokenizer, prompt).limit(budget);
  const wished = encode(tokenizer, wish);
  const tokens: number[] = [];
  let forced = 0;
  for (let i = 0; i < wished.length; i++) {
    for (let next = steering.next(tokens); next !== undefined; next = steering.next(tokens)) {
      tokens.push(next);
      assert(++forced < 100, "the end of reasoning never ends");
    }
    tokens.push(wished[i]);
  }
  return tokenizer.decode(tokens, { skipSpecial: false, continuing: true });
}

Deno.test("a budget ends reasoning after so many tokens, 0 at once, and leaves content alone", () => {
  const ends = (wish: string, budget: number, prompt = "Q<think>\n") =>
    steered(PLAIN, prompt, wish, budget);
  assertEquals(ends("abcdef", 3), "abc</think>\n\ndef");
  assertEquals(ends("abcdef", 0), "</think>\n\nabcdef");
  assertEquals(ends("ab</think>cdefghij<think>xyz", 10), "ab</think>cdefghij<think>xyz");
  assertEquals(ends("abcdefgh", 3, "Q"), "abcdefgh");
  assertEquals(ends("<think>abcdef", 2, "Q"), "<think>ab</think>\n\ncdef");
  // The model has opened the tag itself, and goes on as if nothing was.
  assertEquals(ends("ab</think>c", 5), "ab</think>\n\nhink>c");
  // A vocabulary that puts a space in front of texts puts none in front of the tag.
  const spaced = vocabularyWith([], true);
  const steering = formatAfter(spaced, "Q<think>\n").limit(0);
  assertEquals(spaced.decode([steering.next([])!], { continuing: true }), "<");
  const control = tokenizerWith("<think>", "</think>");
  assertEquals(steered(control, "Q<think>", "abcdef", 3), "abc</think>\n\ndef");
});

Deno.test("a budget ends gpt-oss's analysis by starting the final message", () => {
  const wish = "<|channel|>analysis<|message|>abcdef";
  const end = "<|end|><|start|>assistant<|channel|>final<|message|>";
  const begin = "<|channel|>analysis<|message|>";
  assertEquals(steered(CHANNELS, CHANNEL_PROMPT, wish, 2), `${begin}ab${end}cdef`);
  assertEquals(steered(CHANNELS, CHANNEL_PROMPT, wish, 0), `${begin}${end}abcdef`);
});

Deno.test("what a budget says follows from the tokens alone, in whatever order they are asked for", () => {
  const format = formatAfter(PLAIN, "Q<think>\n");
  const wish = encode(PLAIN, "ab</think>cd<think>efgh");
  const asked = fc.array(fc.tuple(fc.nat(wish.length), fc.nat(3)), { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(asked, fc.nat(12), (questions, budget) => {
    const steering = format.limit(budget);
    for (const [length, drafts] of questions) {
      // Drafts that never come.
      const tokens = [...wish.slice(0, length), ...Array(drafts).fill(3 + 65)];
      assertEquals(steering.next(tokens), format.limit(budget).next(tokens));
    }
  }));
});
