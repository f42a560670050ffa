/**
 * Parameters that are written one by one between tags: texts as they are, all else as JSON.
 *
 * @module
 */
import type { Expression } from "../../grammar/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Tool } from "../conversation.ts";
import { optional } from "./json_calls.ts";
import { escapeJson, readJson } from "./json_reading.ts";
import { isText, type Parameter, parametersOf, standalone, textGrammar } from "./parameters.ts";
import type { CallOutput } from "./scanned_calls.ts";
import type { Reading, TextScanner } from "./text_scanner.ts";
import type { ToolGrammarWriter } from "./tool_format.ts";

/** What stands around the name and the value of a parameter. */
export interface ParameterTags {
  /** Before the name. */
  readonly open: string;
  /** Between the name and the value. */
  readonly middle: string;
  /** Behind the value: it ends there. */
  readonly close: string;
  /** What comes behind that. */
  readonly behind: string;
}

/**
 * The parameters of a tool, in their order, those that are not required with or without.
 *
 * @throws {M40Error} "invalid_request" for one that is required and whose name ends too soon between the tags.
 */
export function writtenParameters(
  tool: Tool,
  tags: ParameterTags,
  writer: ToolGrammarWriter,
): Expression {
  return writer.sequence(
    ...parametersOf(tool).filter((one) => canBeNamed(tool, one, tags)).map((parameter) => {
      const item = writer.sequence(
        `${tags.open}${parameter.name}${tags.middle}`,
        valueOf(tool, parameter, tags, writer),
        tags.close + tags.behind,
      );
      return parameter.required ? item : optional(item);
    }),
  );
}

function canBeNamed(tool: Tool, { name, required }: Parameter, { middle }: ParameterTags): boolean {
  const isNamed = `${name}${middle}`.indexOf(middle) === name.length && name.isWellFormed();
  if (isNamed || !required) return isNamed;
  throw new M40Error(
    "invalid_request",
    `tools: "${tool.name}" requires a parameter with ${
      JSON.stringify(middle)
    } or half of a character in its name, ` +
      "which this model cannot write; name it otherwise",
    "tools",
  );
}

function valueOf(
  tool: Tool,
  { name, value }: Parameter,
  { close }: ParameterTags,
  writer: ToolGrammarWriter,
): Expression {
  return isText(value)
    ? textGrammar(tool, value, close, writer)
    : writer.json(standalone(value), `tools: ${tool.name}'s parameter ${name}`);
}

/** Reads parameters as they are written by {@link writtenParameters}, and gives them as an object of JSON. */
export class ParameterReader {
  private readonly plain: ReadonlySet<string>;
  private readonly known: ReadonlySet<string>;
  private some = false;

  constructor(
    tool: Tool | undefined,
    private readonly close: string,
    private readonly output: CallOutput,
  ) {
    const parameters = tool === undefined ? [] : parametersOf(tool);
    this.known = new Set(parameters.map(({ name }) => name));
    this.plain = new Set(parameters.filter(({ value }) => isText(value)).map(({ name }) => name));
  }

  /** Reads a value and the tag behind it; false where one of them is not whole. */
  *value(input: TextScanner, name: string): Reading<boolean> {
    const { output, close } = this;
    output.write(`${this.some ? ", " : "{"}${JSON.stringify(name)}: `);
    this.some = true;
    // A model that was not held to the tools may write others; what they are is not known.
    if (this.known.has(name) && !this.plain.has(name)) {
      if (!(yield* readJson(input, output.write))) return false;
      yield* input.space();
      return yield* input.accept(close.trimStart());
    }
    output.write('"');
    const whole = yield* input.upTo(close, (text) => output.write(escapeJson(text)));
    if (whole) output.write('"');
    return whole;
  }

  /** All parameters have come. */
  end(): void {
    this.output.write(this.some ? "}" : "{}");
  }
}
