import { choiceOf, sequenceOf } from "../../grammar/mod.ts";
import { readJson } from "./json_reading.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
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
  layout: Layout,
  matches: (template: string) => boolean,
): ToolFormat {
  const { kind, beforeArguments, behindArguments, between } = layout;
  return {
    name,
    openers: () => [OPEN],
    matches: (template) => template.includes(OPEN) && matches(template),
    calls(tools, parallel, writer) {
      const call = writer.rule(
        "call",
        sequenceOf([
          writer.literal(`${CALL}${kind}`),
          choiceOf(tools.map((tool) =>
            sequenceOf([
              writer.literal(`${tool.name}${beforeArguments}`),
              writer.arguments(tool),
            ])
          )),
          writer.literal(`${behindArguments}${CALL_END}`),
        ]),
      );
      const next = sequenceOf([writer.literal(between), call]);
      return sequenceOf([
        writer.literal(OPEN),
        call,
        { kind: "repeat", item: next, least: 0, most: parallel ? undefined : 0 },
        writer.literal(CLOSE),
      ]);
    },
    reader: () => new ScannedCalls((input, output) => readCalls(input, output, layout)),
  };
}

function* readCalls(input: TextScanner, output: CallOutput, { kind }: Layout): Reading<void> {
  input.mark();
  if (!(yield* input.accept(OPEN))) return;
  for (;;) {
    yield* input.space();
    if (yield* input.accept(CLOSE)) return input.commit();
    if (!(yield* input.accept(CALL)) || !(yield* input.accept(kind))) return;
    const name = yield* input.word(/[^\s<>{}"]/);
    if (name === "") return;
    // A fence around the arguments, or a token before them.
    yield* input.accept(SEPARATOR);
    yield* input.space();
    yield* input.accept("```json");
    yield* input.space();
    if ((yield* input.peek()) !== "{") return;
    input.commit();
    output.begin(name);
    if (!(yield* readJson(input, (text) => output.write(text)))) return;
    yield* input.space();
    yield* input.accept("```");
    yield* input.accept(CALL_END);
  }
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
