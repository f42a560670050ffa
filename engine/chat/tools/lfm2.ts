import { choiceOf, type Expression } from "../../grammar/mod.ts";
import type { Tool } from "../conversation.ts";
import { severalOf } from "./json_calls.ts";
import { readKey, readLiteral } from "./literals.ts";
import { isSchema, parametersOf, resolved, standalone, type ValueSchema } from "./parameters.ts";
import { memberList } from "./member_list.ts";
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
    return writer.sequence(
      `${OPEN}[`,
      severalOf(call, parallel, writer.literal(", ")),
      `]${CLOSE}`,
    );
  },
  *read(input, output) {
    for (;;) {
      input.mark();
      if (!(yield* input.acceptSpaced(OPEN))) return;
      if (!(yield* input.acceptSpaced("["))) return;
      for (;;) {
        if (yield* input.acceptSpaced("]")) break;
        const name = yield* input.word(/[^\s()[\]{}"'<>,=]/);
        if (name === "" || !(yield* input.accept("("))) return;
        input.commit();
        output.begin(name);
        if (!(yield* readArguments(input, output.write))) return;
        yield* input.acceptSpaced(",");
      }
      yield* input.acceptSpaced(CLOSE);
    }
  },
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
    expression: writer.sequence(
      `${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}=`,
      valueOf(value, writer, `tools: ${tool.name}'s parameter ${name}`),
    ),
  }));
  const list = memberList(`members of ${tool.name}`, members, ", ", writer);
  return writer.sequence(`${tool.name}(`, list, ")");
}

function valueOf(value: ValueSchema, writer: ToolGrammarWriter, name: string): Expression {
  const schema = resolved(value);
  if (isSchema(schema) && schema.type === "boolean" && !("const" in schema || "enum" in schema)) {
    return choiceOf([writer.literal("True"), writer.literal("False")]);
  }
  return writer.json(standalone(value), name);
}

/** Reads arguments up to and with the bracket behind them. */
function* readArguments(input: TextScanner, take: (text: string) => void): Reading<boolean> {
  for (let some = false;; some = true) {
    if (yield* input.acceptSpaced(")")) {
      take(some ? "}" : "{}");
      return true;
    }
    if (some && !(yield* input.accept(","))) return false;
    take(some ? ", " : "{");
    if (!(yield* readKey(input, take, "="))) return false;
    if (!(yield* readLiteral(input, take))) return false;
  }
}
