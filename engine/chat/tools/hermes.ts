import { choiceOf, type Expression } from "../../grammar/mod.ts";
import { jsonCall, readJsonCall, severalOf } from "./json_calls.ts";
import type { ToolFormat } from "./tool_format.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
/** Most write the tags in lines of their own. */
const LINE: Expression = choiceOf([{ kind: "literal", text: "\n" }, { kind: "literal", text: "" }]);

/** Hermes, Qwen up to 3, and models that follow them: calls as objects of JSON, each between tags. */
export const HERMES: ToolFormat = {
  name: "hermes",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN),
  calls(tools, parallel, writer) {
    const call = writer.sequence(OPEN, LINE, jsonCall(tools, writer), LINE, CLOSE);
    return severalOf(writer.rule("call", call), parallel, LINE);
  },
  *read(input, output) {
    for (;;) {
      input.mark();
      if (!(yield* input.acceptSpaced(OPEN))) return;
      yield* input.space();
      if (!(yield* readJsonCall(input, output))) return;
      if (!(yield* input.acceptSpaced(CLOSE))) return;
    }
  },
};

/**
 * For models whose template shows no tools, or in an unknown way: a system message asks them to write calls as Hermes
 * does, see `tool_texts.ts`.
 */
export const GENERIC: ToolFormat = { ...HERMES, name: "generic", matches: () => true };
