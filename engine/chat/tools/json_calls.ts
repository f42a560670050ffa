/**
 * Calls as objects of JSON: `{"name": "f", "arguments": {...}}`, with other keys in some formats.
 *
 * @module
 */
import { choiceOf, type Expression, sequenceOf } from "../../grammar/mod.ts";
import type { Tool } from "../conversation.ts";
import { readJson, readJsonText } from "./json_reading.ts";
import type { CallOutput } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolGrammarWriter } from "./tool_format.ts";

/** What the parts of a call are called. */
export interface CallKeys {
  readonly name: string;
  readonly arguments: string;
}

/** The keys of most formats. */
export const COMMON_KEYS: CallKeys = { name: "name", arguments: "arguments" };

/** A blank, or none: models differ in where they write one. */
export const BLANK: Expression = {
  kind: "repeat",
  item: { kind: "literal", text: " " },
  least: 0,
  most: 1,
};

/** What a call has before its name, and behind its arguments. */
export interface CallExtras {
  readonly before?: Expression;
  readonly behind?: Expression;
}

/** A call of one of some tools, as an object. */
export function jsonCall(
  tools: readonly Tool[],
  writer: ToolGrammarWriter,
  keys: CallKeys = COMMON_KEYS,
  { before, behind }: CallExtras = {},
): Expression {
  const text = (text: string) => writer.literal(text);
  const calls = tools.map((tool) =>
    sequenceOf([
      text(`${JSON.stringify(tool.name)},`),
      BLANK,
      text(`"${keys.arguments}":`),
      BLANK,
      writer.arguments(tool),
    ])
  );
  return sequenceOf([
    text("{"),
    ...before === undefined ? [] : [before],
    text(`"${keys.name}":`),
    BLANK,
    choiceOf(calls),
    ...behind === undefined ? [] : [behind],
    text("}"),
  ]);
}

/** One item, or where there may be several, those with commas between them. */
export function listOf(item: Expression, several: boolean): Expression {
  if (!several) return item;
  const next = sequenceOf([{ kind: "literal", text: "," }, BLANK, item]);
  return sequenceOf([item, { kind: "repeat", item: next, least: 0 }]);
}

/** Reads a call; false where none comes, or one that is not whole. */
export function* readJsonCall(
  input: TextScanner,
  output: CallOutput,
  keys: CallKeys = COMMON_KEYS,
): Reading<boolean> {
  let name: string | undefined;
  let given: string | undefined;
  let hasArguments = false;
  const begin = (name: string) => {
    input.commit();
    output.begin(name);
  };
  if (!(yield* input.accept("{"))) return false;
  for (;;) {
    yield* input.space();
    if (yield* input.accept("}")) break;
    const key = yield* readJsonText(input);
    if (key === undefined) return false;
    yield* input.space();
    if (!(yield* input.accept(":"))) return false;
    if (key === keys.name && name === undefined) {
      name = yield* readJsonText(input);
      if (name === undefined) return false;
      if (given !== undefined) {
        begin(name);
        output.write(given);
      }
    } else if (key === keys.arguments && !hasArguments) {
      hasArguments = true;
      given = "";
      if (name !== undefined) begin(name);
      const whole = yield* readJson(input, (text) => {
        if (name === undefined) given += text;
        else output.write(text);
      });
      if (!whole) return false;
    } else if (!(yield* readJson(input, () => {}))) {
      return false;
    }
    yield* input.space();
    yield* input.accept(",");
  }
  if (name === undefined) return false;
  if (!hasArguments) {
    begin(name);
    output.write("{}");
  }
  return true;
}

/** Reads a list of calls between brackets. */
export function* readJsonCalls(
  input: TextScanner,
  output: CallOutput,
  keys: CallKeys = COMMON_KEYS,
): Reading<void> {
  yield* input.space();
  if (!(yield* input.accept("["))) return;
  for (;;) {
    yield* input.space();
    if (yield* input.accept("]")) return;
    if (!(yield* readJsonCall(input, output, keys))) return;
    yield* input.space();
    yield* input.accept(",");
  }
}
