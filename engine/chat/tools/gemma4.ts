import { choiceOf, type Expression, sequenceOf } from "../../grammar/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Tool } from "../conversation.ts";
import { GEMMA_QUOTE, readLiteral } from "./literals.ts";
import { memberList } from "./member_list.ts";
import {
  isSchema,
  isText,
  type Parameter,
  parametersOf,
  resolved,
  standalone,
  textGrammar,
  type ValueSchema,
} from "./parameters.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolFormat, ToolGrammarWriter } from "./tool_format.ts";

const OPEN = "<|tool_call>";
const CLOSE = "<tool_call|>";
/** Keys that stand as they are; others are quoted. */
const BARE_KEY = /^[A-Za-z_][\w.-]*$/;
/** Values within each other that are written in the notation; deeper ones are JSON. */
const MOST_LEVELS = 4;
/** Keywords of objects that are written member by member. */
const OBJECT_KEYWORDS = new Set([
  "type",
  "title",
  "description",
  "properties",
  "required",
  "additionalProperties",
  "default",
  "examples",
]);
const ARRAY_KEYWORDS = new Set(["type", "title", "description", "items", "default", "examples"]);

/**
 * Gemma 4: a name and an object whose keys are not quoted, and whose texts stand as they are between tokens of their
 * own. Where a schema says more of a list or an object than that, it is written as JSON, which reads as well.
 */
export const GEMMA4: ToolFormat = {
  name: "gemma4",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN) && template.includes(CLOSE),
  calls(tools, parallel, writer) {
    const call = writer.rule(
      "call",
      sequenceOf([
        writer.literal(`${OPEN}call:`),
        choiceOf(tools.map((tool) =>
          sequenceOf([
            writer.literal(tool.name),
            new ValueWriter(tool, writer).members(parametersOf(tool), 0),
          ])
        )),
        writer.literal(CLOSE),
      ]),
    );
    return parallel ? { kind: "repeat", item: call, least: 1 } : call;
  },
  reader: () => new ScannedCalls(readCalls),
};

/** Writes the grammar of one tool's values. */
class ValueWriter {
  private count = 0;

  constructor(private readonly tool: Tool, private readonly writer: ToolGrammarWriter) {}

  /** An object of parameters, with its brackets. */
  members(parameters: readonly Parameter[], level: number): Expression {
    const { writer } = this;
    const name = `members of ${this.tool.name} ${this.count++}`;
    const members = parameters.map(({ name, required, value }) => ({
      required,
      expression: sequenceOf([
        writer.literal(`${BARE_KEY.test(name) ? name : JSON.stringify(name)}:`),
        this.value(value, level),
      ]),
    }));
    return sequenceOf([
      writer.literal("{"),
      memberList(name, members, ",", writer),
      writer.literal("}"),
    ]);
  }

  private value(value: ValueSchema, level: number): Expression {
    const { writer, tool } = this;
    if (isText(value)) {
      const quote = writer.literal(GEMMA_QUOTE);
      return sequenceOf([quote, textGrammar(tool, value, GEMMA_QUOTE, writer), quote]);
    }
    return (level < MOST_LEVELS ? this.nested(value, level + 1) : undefined) ??
      writer.json(standalone(value), `tools: the parameters of ${tool.name}`);
  }

  /** A list or an object in the notation; undefined where the schema says more of it. */
  private nested({ schema, root }: ValueSchema, level: number): Expression | undefined {
    const { writer } = this;
    const found = resolved({ schema, root });
    if (!isSchema(found)) return undefined;
    const only = (keywords: ReadonlySet<string>) =>
      Object.keys(found).every((key) => keywords.has(key));
    if (found.type === "array" && only(ARRAY_KEYWORDS) && isSchema(found.items)) {
      const item = writer.rule(
        `items of ${this.tool.name} ${this.count++}`,
        this.value({ schema: found.items, root }, level),
      );
      const next = sequenceOf([writer.literal(","), item]);
      const items = sequenceOf([item, { kind: "repeat", item: next, least: 0 }]);
      return sequenceOf([
        writer.literal("["),
        { kind: "repeat", item: items, least: 0, most: 1 },
        writer.literal("]"),
      ]);
    }
    if (found.type !== "object" || !only(OBJECT_KEYWORDS) || !isSchema(found.properties)) {
      return undefined;
    }
    try {
      const parameters = parametersOf({ name: this.tool.name, parameters: found });
      return this.members(
        parameters.map((one) => ({ ...one, value: { schema: one.value.schema, root } })),
        level,
      );
    } catch (error) {
      if (error instanceof M40Error) return undefined;
      throw error;
    }
  }
}

function* readCalls(input: TextScanner, output: CallOutput): Reading<void> {
  for (;;) {
    input.mark();
    yield* input.space();
    if (!(yield* input.accept(OPEN))) return;
    if (!(yield* input.accept("call:"))) return;
    const name = yield* input.word(/[^\s()[\]{}"'<>,]/);
    yield* input.space();
    if (name === "" || (yield* input.peek()) !== "{") return;
    input.commit();
    output.begin(name);
    if (!(yield* readLiteral(input, (text) => output.write(text)))) return;
    yield* input.space();
    yield* input.accept(CLOSE);
  }
}
