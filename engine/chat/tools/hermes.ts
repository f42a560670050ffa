import { choiceOf, type Expression, sequenceOf } from "../../grammar/mod.ts";
import { jsonCall, readJsonCall } from "./json_calls.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolFormat } from "./tool_format.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
/** Most write the tags in lines of their own. */
const LINE: Expression = choiceOf([{ kind: "literal", text: "\n" }, { kind: "literal", text: "" }]);

/** Calls as objects of JSON, each between tags. */
export const TAGGED_JSON: Pick<ToolFormat, "openers" | "calls" | "reader"> = {
  openers: () => [OPEN],
  calls(tools, parallel, writer) {
    const call = writer.rule(
      "call",
      sequenceOf([
        writer.literal(OPEN),
        LINE,
        jsonCall(tools, writer),
        LINE,
        writer.literal(CLOSE),
      ]),
    );
    if (!parallel) return call;
    return sequenceOf([call, { kind: "repeat", item: sequenceOf([LINE, call]), least: 0 }]);
  },
  reader: () => new ScannedCalls(readCalls),
};

/** Hermes, Qwen up to 3, and models that follow them. */
export const HERMES: ToolFormat = {
  name: "hermes",
  matches: (template) => template.includes(OPEN),
  ...TAGGED_JSON,
};

function* readCalls(input: TextScanner, output: CallOutput): Reading<void> {
  for (;;) {
    input.mark();
    yield* input.space();
    if (!(yield* input.accept(OPEN))) return;
    yield* input.space();
    if (!(yield* readJsonCall(input, output))) return;
    yield* input.space();
    if (!(yield* input.accept(CLOSE))) return;
  }
}
