import { choiceOf } from "../../grammar/mod.ts";
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
        writer.sequence(
          "<function=",
          choiceOf(tools.map((tool) =>
            writer.sequence(
              `${tool.name}>\n`,
              writtenParameters(tool, tags, writer),
              "</function>\n",
            )
          )),
          close,
        ),
      );
      const first = writer.sequence(
        choiceOf([writer.literal(`${open}\n`), writer.literal("")]),
        call,
      );
      if (!parallel) return first;
      const next = writer.sequence(`\n${open}\n`, call);
      return writer.sequence(first, { kind: "repeat", item: next, least: 0 });
    },
    *read(input, output, tools) {
      for (;;) {
        input.mark();
        if (yield* input.acceptSpaced(open)) yield* input.space();
        if (!(yield* input.accept("<function="))) return;
        const name = yield* input.word(/[^\s<>]/);
        if (name === "" || !(yield* input.accept(">"))) return;
        input.commit();
        output.begin(name);
        const tool = tools.find((one) => one.name === name);
        const parameters = new ParameterReader(tool, tags.close, output);
        while (yield* input.acceptSpaced(tags.open)) {
          let key = "";
          if (!(yield* input.upTo(tags.middle, (text) => key += text))) return;
          if (!(yield* parameters.value(input, key))) return;
        }
        if (!(yield* input.accept("</function>"))) return;
        parameters.end();
        yield* input.acceptSpaced(close);
      }
    },
  };
}

/** Qwen3-Coder, Qwen 3.5 and Nemotron 3. */
export const QWEN_XML = xmlFormat("qwen-xml", "tool_call", "\n");

/** Seed-OSS: values are on the line of their tags. */
export const SEED_XML = xmlFormat("seed-xml", "seed:tool_call", "");
