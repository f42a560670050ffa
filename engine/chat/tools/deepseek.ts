import { choiceOf } from "../../grammar/mod.ts";
import { severalOf } from "./json_calls.ts";
import { readJson } from "./json_reading.ts";
import type { ToolFormat } from "./tool_format.ts";

const OPEN = "<｜tool▁calls▁begin｜>";
const CLOSE = "<｜tool▁calls▁end｜>";
const CALL = "<｜tool▁call▁begin｜>";
const SEPARATOR = "<｜tool▁sep｜>";
const CALL_END = "<｜tool▁call▁end｜>";

/** What stands around the name and the arguments of a call. */
interface Layout {
  /** Between the token that begins a call and its name. */
  readonly kind: string;
  readonly beforeArguments: string;
  readonly behindArguments: string;
  /** Between two calls. */
  readonly between: string;
}

function deepseekFormat(
  name: string,
  { kind, beforeArguments, behindArguments, between }: Layout,
  matches: (template: string) => boolean,
): ToolFormat {
  return {
    name,
    openers: () => [OPEN],
    matches: (template) => template.includes(OPEN) && matches(template),
    calls(tools, parallel, writer) {
      const call = writer.sequence(
        `${CALL}${kind}`,
        choiceOf(
          tools.map((tool) =>
            writer.sequence(`${tool.name}${beforeArguments}`, writer.arguments(tool))
          ),
        ),
        `${behindArguments}${CALL_END}`,
      );
      const separator = writer.literal(between);
      return writer.sequence(
        OPEN,
        severalOf(writer.rule("call", call), parallel, separator),
        CLOSE,
      );
    },
    *read(input, output) {
      input.mark();
      if (!(yield* input.accept(OPEN))) return;
      for (;;) {
        if (yield* input.acceptSpaced(CLOSE)) return input.commit();
        if (!(yield* input.accept(CALL)) || !(yield* input.accept(kind))) return;
        const name = yield* input.word(/[^\s<>{}"]/);
        if (name === "") return;
        // A fence around the arguments, or a token before them.
        yield* input.accept(SEPARATOR);
        yield* input.acceptSpaced("```json");
        yield* input.space();
        if ((yield* input.peek()) !== "{") return;
        input.commit();
        output.begin(name);
        if (!(yield* readJson(input, output.write))) return;
        yield* input.acceptSpaced("```");
        yield* input.accept(CALL_END);
      }
    },
  };
}

const isFenced = (template: string) => template.includes("```json");

/** DeepSeek V3 and R1: the arguments stand in a fence of Markdown. */
export const DEEPSEEK_V3 = deepseekFormat("deepseek-v3", {
  kind: `function${SEPARATOR}`,
  beforeArguments: "\n```json\n",
  behindArguments: "\n```",
  between: "\n",
}, isFenced);

/** DeepSeek V3.1: the name, a token, and the arguments. */
export const DEEPSEEK_V31 = deepseekFormat("deepseek-v3.1", {
  kind: "",
  beforeArguments: SEPARATOR,
  behindArguments: "",
  between: "",
}, () => true);
