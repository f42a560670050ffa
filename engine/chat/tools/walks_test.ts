import { assert, assertEquals } from "@std/assert";
import { HarmonyReasoning } from "../harmony_reasoning.ts";
import type { OutputFormat } from "../reasoning.ts";
import { TaggedReasoning } from "../tagged_reasoning.ts";
import { TOOL_FORMATS } from "./formats.ts";
import { GENERIC } from "./hermes.ts";
import type { ToolFormat } from "./tool_format.ts";
import type { ToolUse } from "./tool_format.ts";
import type { Constraint } from "../../grammar/constraint.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import { checkerOf, toolTokenizer, Walker } from "../../../tests/fixtures/tool_walks.ts";
import { TOOLS } from "../../../tests/fixtures/tool_samples.ts";

/** Walks of each kind. */
const WALKS = Number(Deno.env.get("M40_TOOL_WALKS") ?? 4);
const MOST_TOKENS = 800;

/** Texts that are control tokens in the vocabularies of models. */
const CONTROLS = [
  ...["<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"],
  ...["<|start|>", "<|end|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|call|>"],
  ...["<|tool_call|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|tool_call_start|>"],
  ...["<|tool_call_end|>", "<think>", "</think>", "<arg_key>", "</arg_key>", "<arg_value>"],
  ...["</arg_value>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>"],
  ...["<｜tool▁call▁end｜>", "<｜tool▁sep｜>", "<|tool_call>", "<tool_call|>", '<|"|>'],
];

/** What ends texts and calls in some format. */
const CLOSERS = [
  ...[
    "</parameter>\n",
    "</parameter>",
    "\n</parameter>",
    "</function>",
    "</arg_value>",
    "</arg_key>",
  ],
  ...['<|"|>', "</tool_call>", "</seed:tool_call>", "<tool_call|>", "\n</function>\n"],
];

function outputFormat(format: ToolFormat, tokenizer: Tokenizer): OutputFormat | undefined {
  if (format.name === "harmony") return HarmonyReasoning.of(tokenizer, []);
  return new TaggedReasoning(tokenizer, "start");
}

/** What openers have between control tokens. */
function openerWords(format: ToolFormat, controls: readonly string[]): string[] {
  return format.openers(TOOLS).flatMap((opener) => {
    const between = controls.reduce((text, one) => text.replaceAll(one, "\0"), opener);
    return between.split("\0").filter((text) => text !== "");
  });
}

/** Tokens that end texts, or begin calls. */
function likedTokens(
  tokenizer: Tokenizer,
  format: ToolFormat,
  controls: readonly string[],
): number[] {
  const texts = [
    ...['"', "}", "]", "<", "\n", '"}', "</", "}}"],
    ...CLOSERS,
    ...CONTROLS,
    ...openerWords(format, controls),
  ];
  const ids = texts.map((text) => tokenizer.tokenId(text)).filter((id) => id !== undefined);
  return [...ids, ...tokenizer.endTokens];
}

for (const format of [...TOOL_FORMATS, GENERIC]) {
  for (const controls of [CONTROLS, []]) {
    const kind = controls.length > 0 ? "control tokens" : "plain text";
    const tokenizer = toolTokenizer(controls, [...CLOSERS, ...openerWords(format, controls)]);
    const output = outputFormat(format, tokenizer);
    if (output === undefined) continue;
    const check = checkerOf(TOOLS);
    const liked = likedTokens(tokenizer, format, controls);
    const walkerOf = (use: Partial<ToolUse>, content?: Constraint) =>
      new Walker({
        tokenizer,
        content,
        format: output,
        use: { format, tools: TOOLS, choice: "required", parallel: true, ...use },
      });

    Deno.test(`${format.name} of ${kind}: whatever is sampled parses, and follows the tools' schemas`, () => {
      const walker = walkerOf({});
      let ended = 0;
      for (let seed = 0; seed < WALKS; seed++) {
        const walk = walker.walk(seed, MOST_TOKENS, liked);
        if (!walk.ended) continue;
        ended++;
        assert(walk.calls.length > 0, JSON.stringify(walk));
        check(walk);
      }
      assert(ended > WALKS / 4, `${ended} walks came to an end`);
    });

    Deno.test(`${format.name} of ${kind}: one by its name, and no second where that is not wanted`, () => {
      const walker = walkerOf({ choice: { name: "get_weather" }, parallel: false });
      for (let seed = 0; seed < WALKS; seed++) {
        const walk = walker.walk(seed, MOST_TOKENS, liked);
        if (!walk.ended) continue;
        assertEquals(walk.calls.map(({ name }) => name), ["get_weather"]);
        check(walk);
      }
    });

    Deno.test(`${format.name} of ${kind}: a call, or what content has to be like`, () => {
      const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
      const walker = walkerOf({ choice: "auto" }, { kind: "json_schema", schema });
      for (let seed = 0; seed < WALKS; seed++) {
        const walk = walker.walk(seed, MOST_TOKENS, liked);
        if (!walk.ended) continue;
        if (walk.calls.length > 0) check(walk);
        else assertEquals(typeof JSON.parse(walk.text).ok, "boolean");
      }
    });

    Deno.test(`${format.name} of ${kind}: free text up to a call that is as it must be`, () => {
      const walker = walkerOf({ choice: "auto" });
      let called = 0;
      // Some end in text alone.
      for (let seed = 0; seed < Math.max(WALKS, 8); seed++) {
        const opener = format.openers(TOOLS)[seed % format.openers(TOOLS).length];
        const walk = walker.walk(seed, MOST_TOKENS, liked, opener);
        if (!walk.ended) continue;
        if (walk.calls.length > 0) called++;
        check(walk);
      }
      // Vocabularies of this kind have no text with a mark of a space in it.
      const canOpen = controls.length > 0 || !format.openers(TOOLS)[0].includes("▁");
      assert(called > 1 || !canOpen, "nothing was called");
    });
  }
}
