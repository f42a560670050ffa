import { choiceOf, type Expression, sequenceOf } from "../../grammar/mod.ts";
import { readJson } from "./json_reading.ts";
import { BLANK, jsonCall, listOf, readJsonCalls } from "./json_calls.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
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
    const id: Expression = {
      kind: "repeat",
      item: sequenceOf([writer.literal(', "id": "'), ID_TEXT, writer.literal('"')]),
      least: 0,
      most: 1,
    };
    const call = writer.rule("call", jsonCall(tools, writer, undefined, { behind: id }));
    return sequenceOf([
      writer.literal(OPEN),
      BLANK,
      writer.literal("["),
      listOf(call, parallel),
      writer.literal("]"),
    ]);
  },
  reader: () => new ScannedCalls(readList),
  newId,
};

function* readList(input: TextScanner, output: CallOutput): Reading<void> {
  input.mark();
  if (!(yield* input.accept(OPEN))) return;
  yield* readJsonCalls(input, output);
}

/** Mistral from Small 3.2 on, Magistral, Devstral: each call is a token, its name, another token and its arguments. */
export const MISTRAL_ARGS: ToolFormat = {
  name: "mistral-args",
  openers: () => [OPEN],
  matches: (template) => template.includes(OPEN) && template.includes(ARGUMENTS),
  calls(tools, parallel, writer) {
    const id: Expression = {
      kind: "repeat",
      item: sequenceOf([writer.literal(ID), ID_TEXT]),
      least: 0,
      most: 1,
    };
    const call = sequenceOf([
      writer.literal(OPEN),
      choiceOf(tools.map((tool) =>
        sequenceOf([
          writer.literal(tool.name),
          id,
          writer.literal(ARGUMENTS),
          writer.arguments(tool),
        ])
      )),
    ]);
    if (!parallel) return call;
    return { kind: "repeat", item: writer.rule("call", call), least: 1 };
  },
  reader: () => new ScannedCalls(readNamed),
  newId,
};

function* readNamed(input: TextScanner, output: CallOutput): Reading<void> {
  for (;;) {
    input.mark();
    yield* input.space();
    if (!(yield* input.accept(OPEN))) return;
    yield* input.space();
    const name = yield* input.word(/[^\s[\]{}"]/);
    let id: string | undefined;
    if (yield* input.accept(ID)) id = yield* input.word(/[^\s[\]{}"]/);
    if (name === "" || !(yield* input.accept(ARGUMENTS))) return;
    input.commit();
    output.begin(name, id);
    if (!(yield* readJson(input, (text) => output.write(text)))) return;
  }
}
