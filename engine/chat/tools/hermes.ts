import type { Expression } from "../../grammar/grammar.ts";
import { choiceOf, sequenceOf } from "../../grammar/expressions.ts";
import type { Tool } from "../conversation.ts";
import { JsonSpan, SteppedReader } from "./stepped_reader.ts";
import type { ToolCallReader, ToolFormat, ToolGrammarWriter } from "./tool_format.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";

/**
 * Hermes and Qwen up to 3, and whoever followed them: each call is
 * `<tool_call>\n{"name": "…", "arguments": {…}}\n</tool_call>`, a line apart.
 */
export const HERMES: ToolFormat = {
  name: "hermes",
  openers: [OPEN],
  matches: (template) =>
    template.includes(OPEN) && !template.includes("<function=") && !template.includes("<arg_key>"),
  calls: callsInTags,
  reader: () => new TaggedJsonReader(),
};

/** The grammar of calls as JSON between tags. */
export function callsInTags(
  tools: readonly Tool[],
  parallel: boolean,
  writer: ToolGrammarWriter,
): Expression {
  const objects = tools.map((tool) =>
    sequenceOf([
      writer.literal(`{"name": ${JSON.stringify(tool.name)}, "arguments": `),
      writer.arguments(tool),
      writer.literal("}"),
    ])
  );
  const call = writer.rule(
    "call",
    sequenceOf([
      writer.literal(`${OPEN}\n`),
      choiceOf(objects),
      writer.literal(`\n${CLOSE}`),
    ]),
  );
  if (!parallel) return call;
  const more = sequenceOf([writer.literal("\n"), call]);
  return sequenceOf([call, { kind: "repeat", item: more, least: 0 }]);
}

/** Reads calls as JSON between tags. */
export class TaggedJsonReader extends SteppedReader implements ToolCallReader {
  private span?: JsonSpan;

  protected override step(): boolean {
    if (this.span === undefined) {
      const begun = this.take(
        /^\s*<tool_call>\s*\{\s*"name"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"arguments"\s*:\s*(?=\{)/,
      );
      if (begun === undefined) return false;
      this.begin(JSON.parse(`"${begun[1]}"`));
      this.span = new JsonSpan();
    }
    if (!this.span.isOver) {
      this.argueJson(this.span);
      return this.span.isOver;
    }
    if (this.take(/^\s*\}\s*<\/tool_call>/) === undefined) return false;
    this.span = undefined;
    return true;
  }
}
