import { choiceOf, sequenceOf } from "../../grammar/mod.ts";
import type { Tool } from "../conversation.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolFormat } from "./tool_format.ts";
import { ParameterReader, type ParameterTags, writtenParameters } from "./written_parameters.ts";

/**
 * Qwen3-Coder, Qwen 3.5, Nemotron 3 and Seed-OSS: a tag for the function, and one for each parameter. What is a
 * text stands between them as it is.
 *
 * @param wrapper The tag around a call.
 * @param line What stands between a tag and a value.
 */
function xmlFormat(name: string, wrapper: string, line: string): ToolFormat {
  const open = `<${wrapper}>`;
  const close = `</${wrapper}>`;
  const tags: ParameterTags = {
    open: "<parameter=",
    middle: `>${line}`,
    close: `${line}</parameter>`,
    behind: "\n",
  };
  return {
    name,
    // Some leave out the tag around a call.
    openers: (tools) => [open, ...tools.map(({ name }) => `<function=${name}>`)],
    matches: (template) =>
      template.includes("<function=") && template.includes("<parameter=") &&
      template.includes(open),
    calls(tools, parallel, writer) {
      const call = writer.rule(
        "function",
        sequenceOf([
          writer.literal("<function="),
          choiceOf(tools.map((tool) =>
            sequenceOf([
              writer.literal(`${tool.name}>\n`),
              writtenParameters(tool, tags, writer),
              writer.literal("</function>\n"),
            ])
          )),
          writer.literal(close),
        ]),
      );
      const first = sequenceOf([choiceOf([writer.literal(`${open}\n`), writer.literal("")]), call]);
      if (!parallel) return first;
      const next = sequenceOf([writer.literal(`\n${open}\n`), call]);
      return sequenceOf([first, { kind: "repeat", item: next, least: 0 }]);
    },
    reader: (tools) =>
      new ScannedCalls((input, output) => readCalls(input, output, tools, { open, close, line })),
  };
}

interface XmlTags {
  readonly open: string;
  readonly close: string;
  readonly line: string;
}

function* readCalls(
  input: TextScanner,
  output: CallOutput,
  tools: readonly Tool[],
  { open, close, line }: XmlTags,
): Reading<void> {
  for (;;) {
    input.mark();
    yield* input.space();
    if (yield* input.accept(open)) yield* input.space();
    if (!(yield* input.accept("<function="))) return;
    const name = yield* input.word(/[^\s<>]/);
    if (name === "" || !(yield* input.accept(">"))) return;
    input.commit();
    output.begin(name);
    const tool = tools.find((one) => one.name === name);
    const parameters = new ParameterReader(tool, `${line}</parameter>`, output);
    for (;;) {
      yield* input.space();
      if (!(yield* input.accept("<parameter="))) break;
      let key = "";
      if (!(yield* input.upTo(`>${line}`, (text) => key += text))) return;
      if (!(yield* parameters.value(input, key))) return;
    }
    if (!(yield* input.accept("</function>"))) return;
    parameters.end();
    yield* input.space();
    yield* input.accept(close);
  }
}

/** Qwen3-Coder, Qwen 3.5 and Nemotron 3. */
export const QWEN_XML = xmlFormat("qwen-xml", "tool_call", "\n");

/** Seed-OSS: values are on the line of their tags. */
export const SEED_XML = xmlFormat("seed-xml", "seed:tool_call", "");
