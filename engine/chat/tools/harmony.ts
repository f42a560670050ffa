import { choiceOf } from "../../grammar/mod.ts";
import { BLANK, optional } from "./json_calls.ts";
import { readJson } from "./json_reading.ts";
import type { ToolFormat } from "./tool_format.ts";

const TO = " to=functions.";
const CHANNEL = "<|channel|>";
const CONSTRAIN = "<|constrain|>";
const MESSAGE = "<|message|>";
const END = "<|end|>";
const START = "<|start|>assistant";
/** The headers of a call's message up to the name of the function. */
const CHANNELS = [`${CHANNEL}commentary${TO}`, `${CHANNEL}analysis${TO}`];
const ROLE = `${START}${TO}`;

/**
 * gpt-oss: a call is a message to a function, whose name is in its header, behind its channel or its role. It is
 * the last of an answer.
 */
export const HARMONY: ToolFormat = {
  name: "harmony",
  openers: (tools) => [
    ...CHANNELS,
    ROLE,
    // The continuation of a prompt that ends with the role.
    ...tools.map(({ name }) => `${TO}${name}${CHANNEL}`),
  ],
  needsTokens: true,
  matches(template, tokenizer) {
    const channel = tokenizer.tokenId(CHANNEL);
    // Without its tokens its messages cannot be separated.
    return template.includes(CHANNEL) && template.includes("functions.") &&
      channel !== undefined && tokenizer.isControl(channel);
  },
  calls(tools, _parallel, writer) {
    const header = (begin: string, end: string) =>
      choiceOf(tools.map((tool) =>
        writer.sequence(
          `${begin}${tool.name}${end}`,
          writer.sequence(BLANK, `${CONSTRAIN}json${MESSAGE}`),
          writer.rule(`arguments of ${tool.name}`, writer.arguments(tool)),
        )
      ));
    return choiceOf([
      ...CHANNELS.map((channel) => header(channel, "")),
      header(ROLE, `${CHANNEL}commentary`),
      header(TO, `${CHANNEL}commentary`),
    ]);
  },
  whole: {
    output(ending, writer) {
      // Reasoning comes in messages before the one that the answer ends with.
      const said = writer.sequence(
        choiceOf(
          ["analysis", "commentary"].map((name) => writer.literal(`${CHANNEL}${name}${MESSAGE}`)),
        ),
        writer.free([END, CHANNEL, START]),
        END,
      );
      const message = writer.sequence(said, optional(writer.literal(START)));
      const messages = { kind: "repeat", item: writer.rule("message", message), least: 0 } as const;
      return writer.sequence(messages, ending);
    },
    content: (content, writer) => writer.sequence(`${CHANNEL}final${MESSAGE}`, content),
    reasoningEnd: `${END}${START}${CHANNELS[0]}`,
  },
  *read(input, output) {
    for (;;) {
      input.mark();
      yield* input.acceptOneOf(["<|end|>", "<|call|>"]);
      if (!(yield* input.acceptOneOf([...CHANNELS, ROLE, TO]))) {
        if (!(yield* input.accept(START))) return;
        if (!(yield* input.acceptOneOf(CHANNELS))) return;
      }
      const name = yield* input.word(/[^\s<>|]/);
      if (name === "" || !(yield* input.upTo(MESSAGE, () => {}))) return;
      input.commit();
      output.begin(name);
      if (!(yield* readJson(input, output.write))) return;
    }
  },
};
