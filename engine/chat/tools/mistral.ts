import { choiceOf, type Expression } from "../../grammar/mod.ts";
import { readJson } from "./json_reading.ts";
import { BLANK, jsonCall, listOf, optional, readJsonCalls } from "./json_calls.ts";
import type { ToolFormat } from "./tool_format.ts";

const OPEN = "[TOOL_CALLS]";
const ARGUMENTS = "[ARGS]";
const ID = "[CALL_ID]";

/** Ids of calls have nine of these; templates refuse others. */
const ID_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 9;
const ID_TEXT: Expression = {
  kind: "repeat",
  item: { kind: "characters", ranges: [[0x30, 0x39], [0x41, 0x5a], [0x61, 0x7a]] },
  least: ID_LENGTH,
  most: ID_LENGTH,
};

function newId(): string {
  const random = crypto.getRandomValues(new Uint32Array(ID_LENGTH));
  return Array.from(random, (one) => ID_CHARACTERS[one % ID_CHARACTERS.length]).join("");
}

/**
 * Mistral from 7B 0.3 to Small 3.1: a list of calls as JSON behind a token. Models may give a call the id that
 * their templates show.
 */
export const MISTRAL: ToolFormat = {
  name: "mistral",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN),
  calls(tools, parallel, writer) {
    const behind = optional(writer.sequence(', "id": "', ID_TEXT, '"'));
    const call = writer.rule("call", jsonCall(tools, writer, undefined, { behind }));
    return writer.sequence(OPEN, BLANK, "[", listOf(call, parallel), "]");
  },
  *read(input, output) {
    input.mark();
    if (!(yield* input.accept(OPEN))) return;
    yield* readJsonCalls(input, output);
  },
  newId,
};

/** Mistral from Small 3.2 on, Magistral, Devstral: each call is a token, its name, another token and its arguments. */
export const MISTRAL_ARGS: ToolFormat = {
  name: "mistral-args",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN) && template.includes(ARGUMENTS),
  calls(tools, parallel, writer) {
    const id = optional(writer.sequence(ID, ID_TEXT));
    const call = writer.sequence(
      OPEN,
      choiceOf(
        tools.map((tool) => writer.sequence(tool.name, id, ARGUMENTS, writer.arguments(tool))),
      ),
    );
    if (!parallel) return call;
    return { kind: "repeat", item: writer.rule("call", call), least: 1 };
  },
  *read(input, output) {
    for (;;) {
      input.mark();
      if (!(yield* input.acceptSpaced(OPEN))) return;
      yield* input.space();
      const name = yield* input.word(/[^\s[\]{}"]/);
      let id: string | undefined;
      if (yield* input.accept(ID)) id = yield* input.word(/[^\s[\]{}"]/);
      if (name === "" || !(yield* input.accept(ARGUMENTS))) return;
      input.commit();
      output.begin(name, id);
      if (!(yield* readJson(input, output.write))) return;
    }
  },
  newId,
};
