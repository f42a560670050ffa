import { choiceOf, type Expression } from "../../grammar/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Tool } from "../conversation.ts";
import { optional, severalOf } from "./json_calls.ts";
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
import type { ToolFormat, ToolGrammarWriter } from "./tool_format.ts";

const OPEN = "<|tool_call>";
const CLOSE = "<tool_call|>";
/** Keys that stand as they are; others are quoted. */
const BARE_KEY = /^[A-Za-z_][\w.-]*$/;
/** Values within each other that are written in the notation; deeper ones are JSON. */
const MOST_LEVELS = 4;
/** Keywords of what is written in the notation; with others a value is JSON. */
const KEYWORDS = ["type", "title", "description", "default", "examples"];
const OBJECT_KEYWORDS = [...KEYWORDS, "properties", "required", "additionalProperties"];
const ARRAY_KEYWORDS = [...KEYWORDS, "items"];

/**
 * Gemma 4: a name and an object whose keys are not quoted, and whose texts stand as they are between tokens of their
 * own. Where a schema says more of a list or an object than that, it is written as JSON, which reads as well.
 */
export const GEMMA4: ToolFormat = {
  name: "gemma4",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN) && template.includes(CLOSE),
  calls(tools, parallel, writer) {
    const call = writer.sequence(
      `${OPEN}call:`,
      choiceOf(
        tools.map((tool) =>
          writer.sequence(tool.name, new ValueWriter(tool, writer).members(parametersOf(tool), 0))
        ),
      ),
      CLOSE,
    );
    const rule = writer.rule("call", call);
    return parallel ? { kind: "repeat", item: rule, least: 1 } : rule;
  },
  *read(input, output) {
    for (;;) {
      input.mark();
      if (!(yield* input.acceptSpaced(OPEN))) return;
      if (!(yield* input.accept("call:"))) return;
      const name = yield* input.word(/[^\s()[\]{}"'<>,]/);
      yield* input.space();
      if (name === "" || (yield* input.peek()) !== "{") return;
      input.commit();
      output.begin(name);
      if (!(yield* readLiteral(input, output.write))) return;
      yield* input.acceptSpaced(CLOSE);
    }
  },
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
      expression: writer.sequence(
        `${BARE_KEY.test(name) ? name : JSON.stringify(name)}:`,
        this.value(value, level),
      ),
    }));
    return writer.sequence("{", memberList(name, members, ",", writer), "}");
  }

  private value(value: ValueSchema, level: number): Expression {
    const { writer, tool } = this;
    if (isText(value)) {
      const text = textGrammar(tool, value, GEMMA_QUOTE, writer);
      return writer.sequence(GEMMA_QUOTE, text, GEMMA_QUOTE);
    }
    return (level < MOST_LEVELS ? this.nested(value, level + 1) : undefined) ??
      writer.json(standalone(value), `tools: the parameters of ${tool.name}`);
  }

  /** A list or an object in the notation; undefined where the schema says more of it. */
  private nested({ schema, root }: ValueSchema, level: number): Expression | undefined {
    const { writer } = this;
    const found = resolved({ schema, root });
    if (!isSchema(found)) return undefined;
    const only = (keywords: readonly string[]) =>
      Object.keys(found).every((key) => keywords.includes(key));
    if (found.type === "array" && only(ARRAY_KEYWORDS) && isSchema(found.items)) {
      const item = writer.rule(
        `items of ${this.tool.name} ${this.count++}`,
        this.value({ schema: found.items, root }, level),
      );
      return writer.sequence("[", optional(severalOf(item, true, writer.literal(","))), "]");
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
