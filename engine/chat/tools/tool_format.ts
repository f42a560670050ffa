import type { Expression } from "../../grammar/mod.ts";
import type { Tokenizer } from "../../tokenizer/mod.ts";
import type { Tool, ToolChoice } from "../conversation.ts";
import type { CallReading } from "./scanned_calls.ts";

/** How a model writes calls of tools. One file a format; `formats.ts` has them all. */
export interface ToolFormat {
  readonly name: string;
  /** What calls begin with, each as text (a control token by its text). Content is free until one of them comes. */
  openers(tools: readonly Tool[]): readonly string[];
  /** Whether a model with such a template and vocabulary writes its calls like this. */
  matches(template: string, tokenizer: Tokenizer): boolean;
  /** Whether it cannot be read where the vocabulary lacks its control tokens, which {@link matches} ensures. */
  readonly needsTokens?: boolean;
  /**
   * All from an opener to the end of the answer: one call, or several where `parallel`. What it allows is what
   * {@link read} reads.
   *
   * @param tools The tools that may be called, at least one.
   */
  calls(tools: readonly Tool[], parallel: boolean, writer: ToolGrammarWriter): Expression;
  /**
   * All of an output whose reasoning and content the format itself separates, so that calls may start outside of
   * content. Absent: calls begin in content.
   *
   * @param ending Calls, or calls and what content has to be like: what the output ends with.
   */
  readonly whole?: {
    output(ending: Expression, writer: ToolGrammarWriter): Expression;
    /** What content that has to be like something stands in. */
    content(content: Expression, writer: ToolGrammarWriter): Expression;
    /** What ends reasoning that has had its tokens where a call has to follow. */
    readonly reasoningEnd: string;
  };
  /** Reads what comes from an opener on, the opener included. */
  readonly read: CallReading;
  /**
   * Calls as the model writes them, for templates that show a message's text and not its calls. Default: as the
   * generic format has them.
   */
  write?(calls: readonly WrittenCall[]): string;
  /** A new id for a call. Default: `call_` and 24 random digits and letters. */
  newId?(): string;
}

/** A call with the value of its arguments. */
export interface WrittenCall {
  readonly name: string;
  readonly value: unknown;
}

/** What the grammar of calls is made with. */
export interface ToolGrammarWriter {
  /** A text as it is; texts of control tokens in it are the tokens. */
  literal(text: string): Expression;
  /** One after the other; texts are as they are. */
  sequence(...parts: readonly (Expression | string)[]): Expression;
  /**
   * JSON that a schema accepts.
   *
   * @param name Whose it is, in errors.
   * @throws {M40Error} "invalid_request" for a schema that cannot be followed.
   */
  json(schema: unknown, name: string): Expression;
  /** The JSON of a tool's arguments, an object. */
  arguments(tool: Tool): Expression;
  /** Any text that `end` does not stand in; `literal(end)` has to come behind it. It has no control tokens in it. */
  until(end: string): Expression;
  /**
   * Texts that a schema accepts, as they are, and that `end` does not stand in; `literal(end)` has to come behind it.
   *
   * @param name Whose it is, in errors.
   * @throws {M40Error} "invalid_request" for a schema that cannot be followed.
   */
  text(schema: unknown, end: string, name: string): Expression;
  /** Anything, control tokens as well, that none of these texts stands in; one of them may come behind it. */
  free(ends: readonly string[]): Expression;
  /** A rule, for what is long or there several times. */
  rule(name: string, expression: Expression): Expression;
}

/** Which tools an answer may call, and how the model writes that. */
export interface ToolUse {
  readonly format: ToolFormat;
  /** At least one. */
  readonly tools: readonly Tool[];
  readonly choice: Exclude<ToolChoice, "none">;
  /** Whether an answer may call several. */
  readonly parallel: boolean;
}
