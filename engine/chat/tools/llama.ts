import { choiceOf } from "../../grammar/mod.ts";
import { type CallKeys, jsonCall, readJsonCall } from "./json_calls.ts";
import type { ToolFormat } from "./tool_format.ts";

const PYTHON_TAG = "<|python_tag|>";
const KEYS: CallKeys = { name: "name", arguments: "parameters" };

/**
 * Llama 3.1 and later: an object of JSON that is the answer, with or without a token before it. Its templates know
 * one call a message, so that there is never more than one.
 */
export const LLAMA: ToolFormat = {
  name: "llama",
  // An object with the name of no tool is content.
  openers: (tools) => [
    PYTHON_TAG,
    ...tools.flatMap(({ name }) => [`{"name": "${name}"`, `{"name":"${name}"`]),
  ],
  matches: (template) =>
    !template.includes("<function=") &&
    /<\|(start_header_id|header_start)\|>/.test(template) &&
    /["']parameters\\?["']\s*:/.test(template),
  calls: (tools, _parallel, writer) =>
    writer.sequence(
      choiceOf([writer.literal(PYTHON_TAG), writer.literal("")]),
      jsonCall(tools, writer, KEYS),
    ),
  *read(input, output) {
    input.mark();
    yield* input.accept(PYTHON_TAG);
    do {
      yield* input.space();
      if (!(yield* readJsonCall(input, output, KEYS))) return;
      input.mark();
      // A model that was not held to one call parts them like this.
    } while (yield* input.acceptSpaced(";"));
  },
};
