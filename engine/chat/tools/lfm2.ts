import { choiceOf, type Expression, sequenceOf } from "../../grammar/mod.ts";
import type { Tool } from "../conversation.ts";
import { readKey, readLiteral } from "./literals.ts";
import { isSchema, parametersOf, resolved, standalone, type ValueSchema } from "./parameters.ts";
import { memberList } from "./member_list.ts";
import { type CallOutput, ScannedCalls } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolFormat, ToolGrammarWriter, WrittenCall } from "./tool_format.ts";

const OPEN = "<|tool_call_start|>";
const CLOSE = "<|tool_call_end|>";

/**
 * LFM2: a list of calls as Python has them, with arguments by their names. Values are written as JSON, which Python
 * reads, but for its names of truth and nothing.
 */
export const LFM2: ToolFormat = {
  name: "lfm2",
  openers: () => [OPEN],
  matches: (template, tokenizer) =>
    template.includes("<|tool_list_start|>") || template.includes(OPEN) ||
    template.includes("List of tools:") && tokenizer.tokenId(OPEN) !== undefined,
  calls(tools, parallel, writer) {
    const call = writer.rule("call", choiceOf(tools.map((tool) => callOf(tool, writer))));
    const next = sequenceOf([writer.literal(", "), call]);
    return sequenceOf([
      writer.literal(`${OPEN}[`),
      call,
      { kind: "repeat", item: next, least: 0, most: parallel ? undefined : 0 },
      writer.literal(`]${CLOSE}`),
    ]);
  },
  reader: () => new ScannedCalls(readCalls),
  // The models' own templates cannot show calls.
  write: (calls) => `${OPEN}[${calls.map(written).join(", ")}]${CLOSE}`,
};

function written({ name, value }: WrittenCall): string {
  const members = isSchema(value) ? Object.entries(value) : [];
  return `${name}(${members.map(([key, item]) => `${key}=${python(item)}`).join(", ")})`;
}

function python(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (!isSchema(value)) return JSON.stringify(value);
  const members = Object.entries(value);
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}: ${python(item)}`).join(", ")}}`;
}

function callOf(tool: Tool, writer: ToolGrammarWriter): Expression {
  const members = parametersOf(tool).map(({ name, required, value }) => ({
    required,
    expression: sequenceOf([
      writer.literal(`${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}=`),
      valueOf(value, writer, `tools: ${tool.name}'s parameter ${name}`),
    ]),
  }));
  return sequenceOf([
    writer.literal(`${tool.name}(`),
    memberList(`members of ${tool.name}`, members, ", ", writer),
    writer.literal(")"),
  ]);
}

function valueOf(value: ValueSchema, writer: ToolGrammarWriter, name: string): Expression {
  const schema = resolved(value);
  if (isSchema(schema) && schema.type === "boolean" && !("const" in schema || "enum" in schema)) {
    return choiceOf([writer.literal("True"), writer.literal("False")]);
  }
  return writer.json(standalone(value), name);
}

function* readCalls(input: TextScanner, output: CallOutput): Reading<void> {
  for (;;) {
    input.mark();
    yield* input.space();
    if (!(yield* input.accept(OPEN))) return;
    yield* input.space();
    if (!(yield* input.accept("["))) return;
    for (;;) {
      yield* input.space();
      if (yield* input.accept("]")) break;
      const name = yield* input.word(/[^\s()[\]{}"'<>,=]/);
      if (name === "" || !(yield* input.accept("("))) return;
      input.commit();
      output.begin(name);
      if (!(yield* readArguments(input, (text) => output.write(text)))) return;
      yield* input.space();
      yield* input.accept(",");
    }
    yield* input.space();
    yield* input.accept(CLOSE);
  }
}

/** Reads arguments up to and with the bracket behind them. */
function* readArguments(input: TextScanner, take: (text: string) => void): Reading<boolean> {
  for (let some = false;; some = true) {
    yield* input.space();
    if (yield* input.accept(")")) {
      take(some ? "}" : "{}");
      return true;
    }
    if (some && !(yield* input.accept(","))) return false;
    take(some ? ", " : "{");
    if (!(yield* readKey(input, take, "="))) return false;
    if (!(yield* readLiteral(input, take))) return false;
  }
}
