/**
 * Formats that write all calls of an answer as one list of JSON between two tags.
 *
 * @module
 */
import { type Expression, sequenceOf } from "../../grammar/mod.ts";
import {
  BLANK,
  type CallKeys,
  COMMON_KEYS,
  jsonCall,
  listOf,
  readJsonCalls,
} from "./json_calls.ts";
import type { ToolFormat } from "./tool_format.ts";

/** How a list of calls is written. */
interface List {
  readonly name: string;
  readonly open: string;
  /** Behind the list; empty where the answer ends there. */
  readonly close: string;
  readonly keys?: CallKeys;
  /** What calls have before their names. */
  readonly before?: Expression;
  /** White space before each call; the list ends with its first character. */
  readonly indent?: string;
}

function listFormat(
  { name, open, close, keys = COMMON_KEYS, before, indent = "" }: List,
  matches: (template: string) => boolean,
): ToolFormat {
  return {
    name,
    openers: () => [open],
    matches,
    calls(tools, parallel, writer) {
      const call = writer.sequence(indent, jsonCall(tools, writer, keys, { before }));
      return writer.sequence(
        open,
        BLANK,
        "[",
        listOf(writer.rule("call", call), parallel),
        `${indent.slice(0, 1)}]`,
        close,
      );
    },
    *read(input, output) {
      input.mark();
      if (!(yield* input.accept(open))) return;
      yield* readJsonCalls(input, output, keys);
      yield* input.acceptSpaced(close);
    },
  };
}

/** Granite 3: a token, and the list; later ones write as Hermes does. */
export const GRANITE = listFormat(
  { name: "granite", open: "<|tool_call|>", close: "" },
  (template) => template.includes("<|tool_call|>") && template.includes("<|start_of_role|>"),
);

/** Nemotron Nano 2 and Llama-Nemotron. */
export const NEMOTRON = listFormat(
  { name: "nemotron", open: "<TOOLCALL>", close: "</TOOLCALL>" },
  (template) => template.includes("<TOOLCALL>"),
);

/** Apriel 1.5 and 1.6. */
export const APRIEL = listFormat(
  { name: "apriel", open: "<tool_calls>", close: "</tool_calls>" },
  (template) => template.includes("<tool_calls>["),
);

/** Command R7B and Command A: calls are numbered, and parts have names of their own. */
export const COMMAND = listFormat({
  name: "command",
  open: "<|START_ACTION|>",
  close: "<|END_ACTION|>",
  keys: { name: "tool_name", arguments: "parameters" },
  indent: "\n    ",
  before: sequenceOf([
    { kind: "literal", text: '"tool_call_id":' },
    BLANK,
    { kind: "literal", text: '"' },
    { kind: "repeat", item: { kind: "characters", ranges: [[0x30, 0x39]] }, least: 1, most: 3 },
    { kind: "literal", text: '",' },
    BLANK,
  ]),
}, (template) => template.includes("<|START_ACTION|>"));
