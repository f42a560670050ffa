/**
 * Grammars of calls against their readers: what the masks let a model write is read as calls that follow their
 * tools' schemas, whatever it writes.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import type { Tool } from "../conversation.ts";
import { TaggedReasoning } from "../tagged_reasoning.ts";
import { TOOL_FORMATS } from "./formats.ts";
import { relaxing } from "../../grammar/json_schema/relaxed_schema.ts";
import type { ToolFormat } from "./tool_format.ts";
import { toolConstraint } from "./tool_grammar.ts";
import { ToolOutput } from "./tool_output.ts";
import { QWEN_XML } from "./qwen_xml.ts";
import { M40Error } from "../../errors.ts";
import { Automaton } from "../../grammar/automaton.ts";
import { CompiledConstraint } from "../../grammar/constraint.ts";
import { Budget } from "../../grammar/json_schema/limits.ts";
import { grammarOfSchema } from "../../grammar/json_schema/mod.ts";
import { grammarOfTexts } from "../../grammar/json_schema/plain_texts.ts";
import { LazyMasks } from "../../grammar/lazy_masks.ts";
import type { TokenMasks } from "../../grammar/masks.ts";
import { loadTokenizer } from "../../mod.ts";
import { terminalBytes } from "../../grammar/token_terminals.ts";
import { randomNumbers } from "../../../tests/fixtures/grammar_random.ts";
import { validatorOf } from "../../../tests/fixtures/json_schema_validator.ts";
import {
  BYTE_TEXTS,
  byteLevelMetadata,
  uint32,
} from "../../../tests/fixtures/tokenizer_metadata.ts";

/** Control tokens of the formats; the first ends an answer. */
const CONTROL = [
  "<|im_end|>",
  "<|python_tag|>",
  "[TOOL_CALLS]",
  "[ARGS]",
  "[CALL_ID]",
  "<|channel|>",
  "<|constrain|>",
  "<|message|>",
  "<|start|>",
  "<|tool_call>",
  "<tool_call|>",
  '<|"|>',
  "<｜tool▁calls▁begin｜>",
  "<｜tool▁calls▁end｜>",
  "<｜tool▁call▁begin｜>",
  "<｜tool▁call▁end｜>",
  "<｜tool▁sep｜>",
  "<|tool_call|>",
  "<|START_ACTION|>",
  "<|END_ACTION|>",
  "<|tool_call_start|>",
  "<|tool_call_end|>",
];
/** Tags that are control tokens in some vocabularies and text in others. */
const TAGS = [
  "<tool_call>",
  "</tool_call>",
  "<arg_key>",
  "</arg_key>",
  "<arg_value>",
  "</arg_value>",
];
/** Texts of several characters, some of which end a value or are parts of what does. */
const PIECES = [
  ...["\n</parameter>", "</parameter>", "</", "\n</", "parameter>", "_value>"],
  ...['"}', "},", "'", "))", "True", "é", "😀", "\\u"],
];

/** A text as byte-level vocabularies write it. */
const encode = (text: string) =>
  [...new TextEncoder().encode(text)].map((byte) => BYTE_TEXTS[byte]).join("");

function tokenizerWith(tags: "control" | "text") {
  const control = tags === "control" ? [...CONTROL, ...TAGS] : CONTROL;
  return loadTokenizer(byteLevelMetadata([], [
    ...control.map((text) => ({ text, type: 3 })),
    ...[...PIECES, ...tags === "text" ? TAGS : []].map((text) => ({ text: encode(text), type: 1 })),
  ], { "tokenizer.ggml.eos_token_id": uint32(256) }));
}

/** What ends a value or a call: walks that have been long enough take one of these that is allowed. */
const ENDINGS = [
  ...["\n</parameter>", "</parameter>", "</arg_value>", "<｜tool▁calls▁end｜>", '<|"|>'],
  ...['"', "}", "]", ")"],
];
const LONG = 120;

type Vocabulary = ReturnType<typeof tokenizerWith>;

/** Samples answers that a mask allows. */
class Walks {
  private readonly masks: TokenMasks;
  private readonly endings: readonly number[];

  constructor(private readonly tokenizer: Vocabulary, private readonly random: () => number) {
    this.masks = new LazyMasks(tokenizer, tokenizer.vocabSize).masks;
    this.endings = ENDINGS.flatMap((text) =>
      tokenizer.tokenId(text) ?? tokenizer.tokenId(encode(text)) ?? []
    );
  }

  /** An answer, without the token that ends it. */
  sample({ automaton }: CompiledConstraint): number[] {
    const answer: number[] = [];
    const [end] = this.tokenizer.endTokens;
    for (let state = automaton.start;;) {
      const { mask } = this.masks.of(automaton, state);
      const allowed = (token: number) => ((mask[token >> 5] >>> (token & 31)) & 1) === 1;
      const tokens = Array.from({ length: this.tokenizer.vocabSize }, (_, i) => i).filter(allowed);
      assert(tokens.length > 0, `nothing is allowed behind ${this.shown(answer)}`);
      if (answer.length > LONG && allowed(end)) return answer;
      const endings = answer.length > LONG ? this.endings.filter(allowed) : [];
      const choice = endings.length > 0 ? endings : tokens;
      const token = choice[Math.floor(this.random() * choice.length)];
      if (token === end) return answer;
      answer.push(token);
      assert(answer.length < 40 * LONG, `no end comes: ${this.shown(answer).slice(-200)}`);
      state = automaton.after(state, terminalBytes(this.tokenizer, token))!;
    }
  }

  shown(answer: readonly number[]): string {
    return this.tokenizer.decode(answer, { skipSpecial: false });
  }
}

/** What is read of an answer. */
function read(
  tokenizer: Vocabulary,
  format: ToolFormat,
  tools: readonly Tool[],
  answer: readonly number[],
) {
  const use = { format, tools, choice: "auto", parallel: true } as const;
  const output = new ToolOutput(new TaggedReasoning(tokenizer, "content"), use, tokenizer);
  const reader = output.reader();
  const decoder = tokenizer.decoder({ continuing: true });
  const pieces = [
    ...answer.map((token) => reader.push(token, decoder.push(token))),
    reader.flush(decoder.flush()),
  ];
  const calls: { name: string; arguments: string; id: string }[] = [];
  for (const { name, id, index, arguments: text } of pieces.flatMap((one) => one.toolCalls ?? [])) {
    if (name !== undefined) calls.push({ name, arguments: "", id: id! });
    calls[index].arguments += text;
  }
  return { text: pieces.map(({ text }) => text).join(""), calls };
}

const MORE_TOOLS: readonly Tool[] = [
  {
    name: "all.kinds:of/values",
    parameters: {
      type: "object",
      properties: {
        code: { type: "string", pattern: "^[A-Z]{2}-[0-9]+$" },
        day: { type: "string", format: "date" },
        kind: { const: "fixed text" },
        mixed: { enum: ["a", 1, null, "<b>"] },
        either: { oneOf: [{ type: "string" }, { type: "number" }] },
        grid: { type: "array", items: { type: "array", items: { type: "boolean" } }, maxItems: 3 },
        some: { type: "array", items: { enum: ["x", "y"] }, minItems: 1 },
        free: {},
        "odd name": { type: "string" },
        point: {
          type: "object",
          properties: { x: { type: "number" }, label: { type: "string" }, "a b": { type: "null" } },
          required: ["x"],
        },
      },
      required: ["code", "mixed", "some", "unnamed"],
      additionalProperties: true,
    },
  },
  { name: "anything", parameters: { type: "object", description: "No parameters are named." } },
  {
    name: "whole",
    parameters: {
      $ref: "#/$defs/p",
      $defs: { p: { type: "object", properties: { n: { type: "integer" } } } },
    },
  },
];

const validators = new Map(
  MORE_TOOLS.map(({ name, parameters = {} }) => [name, validatorOf(parameters)]),
);

const TOKENIZERS = { control: tokenizerWith("control"), text: tokenizerWith("text") };

for (const format of TOOL_FORMATS.filter(({ name }) => name !== "harmony")) {
  Deno.test(`${format.name}: values of every kind of schema are read as what the schemas accept`, () => {
    for (const tokenizer of Object.values(TOKENIZERS)) {
      const walks = new Walks(tokenizer, randomNumbers(7));
      for (const tool of MORE_TOOLS) {
        const use = { format, tools: MORE_TOOLS, choice: { name: tool.name }, parallel: false };
        const answer = walks.sample(new CompiledConstraint(toolConstraint(tokenizer, use)));
        const { text, calls } = read(tokenizer, format, MORE_TOOLS, answer);
        const about = walks.shown(answer);
        assertEquals(text, "", about);
        assertEquals(calls.map(({ name }) => name), [tool.name], about);
        const validate = validators.get(tool.name)!;
        const json = calls[0].arguments;
        assert(validate(JSON.parse(json)), `${about}\n${json}\n${JSON.stringify(validate.errors)}`);
      }
    }
  });
}

Deno.test("texts as they are: the mark behind them is never a part of them, and what cannot be counted is said", () => {
  const accepts = (schema: unknown, text: string) => {
    const automaton = new Automaton(grammarOfTexts(schema, "</v>", new Budget()));
    return automaton.after(automaton.start, new TextEncoder().encode(text))?.canEnd ?? false;
  };
  const short = { type: "string", minLength: 2, maxLength: 6 };
  for (const text of ["ab", '"\\\n', "😀😀😀😀😀😀", "</v", "</v<", "a</v"]) {
    assert(accepts(short, text), text);
  }
  for (const text of ["", "a", "abcdefg", "</v>", "a</v>", "</v>b"]) {
    assert(!accepts(short, text), text);
  }
  const listed = { enum: ["x", "a</v>b", "</v"] };
  assertEquals(["x", "a</v>b", "</v"].map((text) => accepts(listed, text)), [true, false, true]);
  assert(
    accepts({ type: "string", pattern: "^a+$" }, "aaa") &&
      !accepts({ pattern: "^a+$", type: "string" }, "b"),
  );
  const long: Tool = {
    name: "long",
    parameters: { type: "object", properties: { t: { type: "string", maxLength: 500 } } },
  };
  const constraint = (tool: Tool) =>
    toolConstraint(TOKENIZERS.text, {
      format: QWEN_XML,
      tools: [tool],
      choice: "auto",
      parallel: true,
    });
  new CompiledConstraint(constraint(long));
  assertThrows(() => new CompiledConstraint(constraint({ ...long, strict: true })), M40Error, "32");
});

const LIST = { type: "array", items: { type: "string" } };
const FOLLOWABLE = { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true };

/** An object's schema, of that many properties. */
function wide(count: number, of: (index: number) => unknown, more: Record<string, unknown> = {}) {
  const properties = Array.from({ length: count }, (_, i) => [`p${i}`, of(i)]);
  return { type: "object", properties: { ...Object.fromEntries(properties), ...more } };
}

/** A schema as it is followed, and how often that was tried. */
function relaxed(schema: unknown): { followed: unknown; tries: number } {
  let tries = 0;
  const followed = relaxing(schema, new Budget(), (schema) => {
    tries++;
    grammarOfSchema(schema);
    return schema;
  });
  return { followed, tries };
}

Deno.test("a schema with any number of keywords that cannot be followed is followed without them, in a few tries", () => {
  const unique = { ...LIST, uniqueItems: true };
  for (const count of [1, 33, 200]) {
    // Neither a property of a keyword's name nor a value that looks like a schema is a keyword.
    const more = { uniqueItems: { type: "boolean" }, fixed: { const: { uniqueItems: true } } };
    const schema = wide(count, () => unique, more);
    const before = structuredClone(schema);
    const { followed, tries } = relaxed(schema);
    assertEquals(followed, wide(count, () => LIST, more));
    assertEquals(schema, before, "the client's own schema stays");
    assert(tries <= 6, `${tries}`);
  }
  // Of different values each is found by itself, as long as there are not too many of them.
  const pattern = (i: number) => ({ type: "string", pattern: `(?=a${i})` });
  const good = { good: { type: "string", pattern: "^a$" } };
  const few = relaxed(wide(20, pattern, good));
  assertEquals(few, { followed: wide(20, () => ({ type: "string" }), good), tries: 21 });
  const many = relaxed(wide(300, pattern, good));
  assertEquals(many.followed, wide(300, () => ({ type: "string" }), { good: { type: "string" } }));
  assert(many.tries <= 34, `${many.tries}`);
  // Where a keyword can be followed in some places, it is, unless there are many where it cannot.
  assertEquals(
    relaxed(wide(4, () => unique, { good: FOLLOWABLE })).followed,
    wide(4, () => LIST, { good: FOLLOWABLE }),
  );
});

Deno.test("tools with many keywords that cannot be followed can be offered together; what they cost is bounded", () => {
  const tools = (count: number, parameters: Record<string, unknown>): Tool[] =>
    Array.from({ length: count }, (_, i) => ({
      name: `f${i}`,
      parameters: { title: `${i}`, ...parameters },
    }));
  const offer = (tools: Tool[]) =>
    new CompiledConstraint(toolConstraint(TOKENIZERS.text, {
      format: QWEN_XML,
      tools,
      choice: "auto",
      parallel: true,
    }));
  offer(tools(1, wide(33, () => ({ ...LIST, uniqueItems: true }))));
  offer(tools(10, wide(33, (i) => ({ ...LIST, uniqueItems: true, minItems: i }))));
  // To read this again and again would take long.
  const long = {
    ...wide(40, (i) => ({ type: "string", pattern: `(?=a${i})` })),
    description: "x".repeat(6_000_000),
  };
  assertThrows(() => offer(tools(1, long)), M40Error, "too complex");
});
