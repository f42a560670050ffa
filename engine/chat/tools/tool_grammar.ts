import type { Constraint } from "../../grammar/constraint.ts";
import { grammarOf } from "../../grammar/constraint.ts";
import { choiceOf, sequenceOf } from "../../grammar/expressions.ts";
import type { Expression, Grammar } from "../../grammar/grammar.ts";
import { tokenTerminal } from "../../grammar/token_terminals.ts";
import { Budget } from "../../grammar/json_schema/limits.ts";
import { grammarOfSchema } from "../../grammar/json_schema/mod.ts";
import { M40Error } from "../../errors.ts";
import type { Tokenizer } from "../../tokenizer/tokenizer.ts";
import type { Tool } from "../conversation.ts";
import { argumentsSchema } from "./arguments_schema.ts";
import { ControlTexts } from "./control_texts.ts";
import type { ToolGrammarWriter } from "./tool_format.ts";
import type { ToolUse } from "./tool_use.ts";

/**
 * What an answer must be like that may call tools: free text up to the first call, or what `content` demands in
 * the place of calls; calls alone where one is required.
 *
 * @param content What the answer must be like where it calls nothing.
 */
export function toolConstraint(
  tokenizer: Tokenizer,
  use: ToolUse,
  content?: Constraint,
): Constraint {
  const { format, tools, choice, parallel } = use;
  const { param: _, ...wanted } = content ?? {};
  return {
    kind: "made",
    param: "tools",
    key: JSON.stringify([format.name, tools, choice, parallel, wanted]),
    grammar: () => toolGrammar(tokenizer, use, content),
    free: choice === "auto" && content === undefined,
  };
}

function toolGrammar(tokenizer: Tokenizer, use: ToolUse, content?: Constraint): Grammar {
  const { format, tools, choice, parallel } = use;
  const writer = new GrammarWriter(tokenizer);
  const callable = typeof choice === "object"
    ? tools.filter(({ name }) => name === choice.name)
    : tools;
  const calls = format.calls(callable, parallel, writer);
  if (choice === "auto" && content === undefined) {
    const perhaps: Expression = { kind: "repeat", item: calls, least: 0, most: 1 };
    return writer.grammar(sequenceOf([writer.free(format.openers), perhaps]));
  }
  const endings = [calls];
  if (choice === "auto" && content !== undefined) {
    const wanted = writer.include(grammarOf(content), "content");
    endings.push(format.whole?.content(wanted, writer) ?? wanted);
  }
  const ending = choiceOf(endings);
  return writer.grammar(format.whole?.output(ending, writer) ?? ending);
}

/** Writes the rules of calls; those of a schema get the name of its tool in front. */
class GrammarWriter implements ToolGrammarWriter {
  private readonly rules = new Map<string, Expression>();
  private readonly controls: ControlTexts;
  /** One for all tools: a list of them may cost as much as one schema. */
  private readonly budget = new Budget();

  constructor(private readonly tokenizer: Tokenizer) {
    this.controls = new ControlTexts(tokenizer);
  }

  grammar(root: Expression): Grammar {
    return { root: "root", rules: new Map([...this.rules, ["root", root]]) };
  }

  literal(text: string): Expression {
    return sequenceOf(
      this.controls.split(text).map((piece): Expression =>
        typeof piece === "number"
          ? { kind: "token", token: piece }
          : { kind: "literal", text: piece }
      ),
    );
  }

  json(schema: unknown, name: string): Expression {
    try {
      return this.include(grammarOfSchema(schema, { budget: this.budget }), name);
    } catch (error) {
      if (!(error instanceof M40Error)) throw error;
      throw new M40Error(error.code, `${name}: ${error.message}`, "tools");
    }
  }

  arguments(tool: Tool): Expression {
    return this.json(argumentsSchema(tool), `tools: the parameters of ${tool.name}`);
  }

  until(end: string): Expression {
    return { kind: "until", ends: [encoder.encode(end)], only: "text" };
  }

  free(ends: readonly string[]): Expression {
    return { kind: "until", ends: ends.map((end) => this.bytes(end)), only: "anything" };
  }

  rule(name: string, expression: Expression): Expression {
    let unused = name;
    for (let i = 2; this.rules.has(unused) || unused === "root"; i++) unused = `${name} ${i}`;
    this.rules.set(unused, expression);
    return { kind: "rule", name: unused };
  }

  /** A grammar's rules, with a name in front of theirs. */
  include({ root, rules }: Grammar, name: string): Expression {
    let prefix = `${name}:`;
    for (let i = 2; this.rules.has(prefix + root); i++) prefix = `${name} ${i}:`;
    for (const [rule, expression] of rules) {
      this.rules.set(prefix + rule, renamed(expression, prefix));
    }
    return { kind: "rule", name: prefix + root };
  }

  /** A text, which may have control tokens in it, as bytes. */
  private bytes(text: string): Uint8Array {
    const pieces = this.controls.split(text).map((piece) =>
      typeof piece === "number" ? tokenTerminal(piece) : encoder.encode(piece)
    );
    return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
  }
}

const encoder = new TextEncoder();

function renamed(expression: Expression, prefix: string): Expression {
  switch (expression.kind) {
    case "rule":
      return { kind: "rule", name: prefix + expression.name };
    case "sequence":
      return { kind: "sequence", items: expression.items.map((item) => renamed(item, prefix)) };
    case "choice":
      return {
        kind: "choice",
        options: expression.options.map((option) => renamed(option, prefix)),
      };
    case "repeat":
      return { ...expression, item: renamed(expression.item, prefix) };
    default:
      return expression;
  }
}
