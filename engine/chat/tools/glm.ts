import { choiceOf } from "../../grammar/mod.ts";
import { severalOf } from "./json_calls.ts";
import type { ToolFormat } from "./tool_format.ts";
import { ParameterReader, writtenParameters } from "./written_parameters.ts";

const OPEN = "<tool_call>";
const CLOSE = "</tool_call>";
const KEY = "<arg_key>";
const KEY_END = "</arg_key>";
const VALUE = "<arg_value>";
const VALUE_END = "</arg_value>";

/**
 * GLM from 4.5 on: the function's name behind the tag, then keys and values between tags of their own.
 *
 * @param line What stands between the tags.
 */
function glmFormat(name: string, line: string, matches: (template: string) => boolean): ToolFormat {
  const tags = { open: KEY, middle: `${KEY_END}${line}${VALUE}`, close: VALUE_END, behind: line };
  return {
    name,
    openers: () => [OPEN],
    matches,
    calls(tools, parallel, writer) {
      const call = writer.sequence(
        OPEN,
        choiceOf(
          tools.map((tool) =>
            writer.sequence(`${tool.name}${line}`, writtenParameters(tool, tags, writer))
          ),
        ),
        CLOSE,
      );
      return parallel ? severalOf(writer.rule("call", call), true, writer.literal(line)) : call;
    },
    *read(input, output, tools) {
      for (;;) {
        input.mark();
        if (!(yield* input.acceptSpaced(OPEN))) return;
        yield* input.space();
        const name = yield* input.word(/[^\s<>{}"]/);
        yield* input.space();
        const ending = yield* input.acceptOneOf([KEY, CLOSE]);
        if (name === "" || ending === undefined) return;
        input.commit();
        output.begin(name);
        const tool = tools.find((one) => one.name === name);
        const parameters = new ParameterReader(tool, VALUE_END, output);
        for (let next: string | undefined = ending; next !== CLOSE;) {
          let key = "";
          if (!(yield* input.upTo(KEY_END, (text) => key += text))) return;
          if (!(yield* input.acceptSpaced(VALUE))) return;
          if (!(yield* parameters.value(input, key))) return;
          yield* input.space();
          next = yield* input.acceptOneOf([KEY, CLOSE]);
          if (next === undefined) return;
        }
        parameters.end();
      }
    },
  };
}

const isGlm = (template: string) => template.includes(KEY) && template.includes(VALUE);
/** Whether a template writes a line's end between a key and its value. */
const hasLines = (template: string) => /<\/arg_key>\s*(\\n|\n)/.test(template);

/** GLM 4.5 and 4.6: a line for each tag. */
export const GLM_45 = glmFormat(
  "glm-4.5",
  "\n",
  (template) => isGlm(template) && hasLines(template),
);

/** GLM 4.7 and later: nothing between the tags. */
export const GLM_47 = glmFormat("glm-4.7", "", isGlm);
