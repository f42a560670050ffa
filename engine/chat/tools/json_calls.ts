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

/** What may be there or not. */
export function optional(item: Expression): Expression {
  return { kind: "repeat", item, least: 0, most: 1 };
}

/** One item, or where there may be several, those with something between each two. */
export function severalOf(
  item: Expression,
  several: boolean,
  ...between: readonly Expression[]
): Expression {
  if (!several) return item;
  const next = sequenceOf([...between, item]);
  return sequenceOf([item, { kind: "repeat", item: next, least: 0 }]);
}

/** A blank, or none: models differ in where they write one. */
export const BLANK: Expression = optional({ kind: "literal", text: " " });

/** Calls with commas between them. */
export function listOf(call: Expression, several: boolean): Expression {
  return severalOf(call, several, { kind: "literal", text: "," }, BLANK);
}

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
  const calls = tools.map((tool) =>
    writer.sequence(
      `${JSON.stringify(tool.name)},`,
      BLANK,
      `"${keys.arguments}":`,
      BLANK,
      writer.arguments(tool),
    )
  );
  return writer.sequence(
    "{",
    ...before === undefined ? [] : [before],
    `"${keys.name}":`,
    BLANK,
    choiceOf(calls),
    ...behind === undefined ? [] : [behind],
    "}",
  );
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
    if (yield* input.acceptSpaced("}")) break;
    const key = yield* readJsonText(input);
    if (key === undefined) return false;
    if (!(yield* input.acceptSpaced(":"))) return false;
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
    yield* input.acceptSpaced(",");
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
  if (!(yield* input.acceptSpaced("["))) return;
  for (;;) {
    if (yield* input.acceptSpaced("]")) return;
    if (!(yield* readJsonCall(input, output, keys))) return;
    yield* input.acceptSpaced(",");
  }
}
