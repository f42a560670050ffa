/**
 * Random walks through what is allowed of answers that call tools, read as the server reads them.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import Ajv2020 from "ajv/dist/2020.js";
import type { Tool } from "../engine/chat/conversation.ts";
import type { OutputFormat, OutputPiece } from "../engine/chat/reasoning.ts";
import { argumentsSchema } from "../engine/chat/tools/arguments_schema.ts";
import { toolConstraint } from "../engine/chat/tools/tool_grammar.ts";
import { ToolOutput } from "../engine/chat/tools/tool_output.ts";
import type { ToolUse } from "../engine/chat/tools/tool_use.ts";
import type { Constraint } from "../engine/grammar/constraint.ts";
import { Constraints } from "../engine/grammar/constraints.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";
import type { Tokenizer } from "../engine/tokenizer/tokenizer.ts";
import { randomIntegers } from "./grammar_texts.ts";
import { BASIC, bool, vocabularyMetadata } from "./tokenizer_metadata.ts";

/** Parts that are tokens of their own, as vocabularies have them: some begin or end others. */
const PARTS = [
  ..."abcdefghijklmnopqrstuvwxyz0123456789{}[]()<>/|:,.=-_\"'\\\n ",
  ...['":', '", "', '{"', '"}', "}}", '": ', '": "', "</", "/>", ">\n", "\n<", "é", "日本", "😀"],
  ...["true", "false", "null", "name", "arguments", "get_weather", "city", "tool", "_call", "func"],
  ...["<tool", "<tool_call", "tool_call>", "\n</tool_call>", "assistant", "final", "commentary"],
];

/** A vocabulary with texts as control tokens, and others as words. */
export function toolTokenizer(controls: readonly string[], words: readonly string[]): Tokenizer {
  const parts = [...PARTS, ...words].filter((text) => !controls.includes(text));
  const tokens = [
    ...BASIC,
    // Vocabularies of this kind write a space so.
    ...[...new Set(parts)].map((text) => text.replaceAll(" ", "▁")),
    ...controls.map((text) => ({ text, type: 3 })),
  ];
  return loadTokenizer(
    vocabularyMetadata(tokens, { "tokenizer.ggml.add_space_prefix": bool(false) }),
  );
}

/** What a walk has come to. */
export interface Walk {
  readonly tokens: readonly number[];
  /** Whether it came to its end, rather than to the most tokens. */
  readonly ended: boolean;
  readonly text: string;
  readonly reasoning: string;
  readonly calls: { id: string; name: string; arguments: string }[];
}

/** What is walked through. */
export interface Way {
  readonly tokenizer: Tokenizer;
  readonly use: ToolUse;
  readonly format: OutputFormat;
  readonly content?: Constraint;
}

/** Tokens before a call that is made to begin. */
const OPENS_AT = 3;

function isAllowed(mask: Uint32Array | undefined, token: number): boolean {
  return mask === undefined || ((mask[token >> 5] >>> (token & 31)) & 1) !== 0;
}

/** Walks for one way, each from another seed. */
export class Walker {
  private readonly constraints: Constraints;

  constructor(private readonly way: Way) {
    const { tokenizer } = way;
    this.constraints = new Constraints(tokenizer, tokenizer.vocabSize);
  }

  /**
   * Draws tokens of those that are allowed, and reads them.
   *
   * @param liked Tokens that are drawn more often than others, so that texts end.
   * @param opener What is drawn behind a few tokens, so that a call begins.
   */
  walk(seed: number, mostTokens: number, liked: readonly number[], opener = ""): Walk {
    const { tokenizer, use, format, content } = this.way;
    const random = randomIntegers(seed);
    const output = new ToolOutput(format, use, tokenizer);
    const steering = this.constraints.steering(
      toolConstraint(tokenizer, use, content),
      use.format.whole === undefined ? output.content() : undefined,
    );
    const reader = output.reader();
    const decoder = tokenizer.decoder({ continuing: true });
    const walk = {
      tokens: [] as number[],
      ended: false,
      text: "",
      reasoning: "",
      calls: [] as Walk["calls"],
    };
    const add = ({ text, reasoning, toolCalls = [] }: OutputPiece) => {
      assert(text === "" || walk.calls.length === 0, `content behind a call: ${text}`);
      walk.text += text;
      walk.reasoning += reasoning;
      for (const { index, id, name, arguments: more } of toolCalls) {
        if (name !== undefined) {
          assertEquals(index, walk.calls.length);
          assert(id !== undefined && id !== "");
          walk.calls.push({ id, name, arguments: "" });
        }
        assertEquals(index, walk.calls.length - 1);
        walk.calls[index].arguments += more;
      }
    };
    const opening = tokenizer.encode(opener, { addSpecial: false, parseSpecial: true });
    let next = 0;
    while (walk.tokens.length < mostTokens) {
      const { tokens } = walk;
      const mask = steering.allowed!(tokens)?.mask;
      const opens = tokens.length >= OPENS_AT && next < opening.length;
      if (opens && !isAllowed(mask, opening[next])) next = 0;
      const token = opens && isAllowed(mask, opening[next])
        ? opening[next++]
        : this.draw(mask, liked, random);
      if (tokenizer.endTokens.has(token)) {
        walk.ended = true;
        break;
      }
      walk.tokens.push(token);
      const broken = tokenizer.isControl(token) ? decoder.breakOff() : "";
      add(reader.push(token, broken + decoder.push(token)));
    }
    add(reader.flush(decoder.flush()));
    return walk;
  }

  private draw(
    mask: Uint32Array | undefined,
    liked: readonly number[],
    random: (limit: number) => number,
  ): number {
    const { tokenizer } = this.way;
    const some = random(3) === 0 ? liked.filter((token) => isAllowed(mask, token)) : [];
    if (some.length > 0) return some[random(some.length)];
    const allowed: number[] = [];
    for (let token = 0; token < tokenizer.vocabSize; token++) {
      if (isAllowed(mask, token)) allowed.push(token);
    }
    assert(allowed.length > 0, "no token is allowed");
    return allowed[random(allowed.length)];
  }
}

/** Tells whether calls are of tools, with arguments that follow their schemas. */
export function checkerOf(tools: readonly Tool[]): (walk: Walk) => void {
  const ajv = new Ajv2020.default({ strict: false, logger: false });
  const validators = new Map(
    tools.map((tool) => [tool.name, ajv.compile(argumentsSchema(tool) as object)]),
  );
  return ({ calls }) => {
    for (const { name, arguments: text } of calls) {
      const validate = validators.get(name);
      assert(validate !== undefined, `there is no tool ${name}`);
      assert(validate(JSON.parse(text)), `${name}: ${text}: ${ajv.errorsText(validate.errors)}`);
    }
  };
}
