import {
  Budget,
  choiceOf,
  type Constraint,
  type Expression,
  type Grammar,
  grammarOf,
  grammarOfSchema,
  grammarOfTexts,
  MergedRules,
  sequenceOf,
  tokenTerminal,
} from "../../grammar/mod.ts";
import type { Tokenizer } from "../../tokenizer/mod.ts";
import type { Tool } from "../conversation.ts";
import { argumentsSchema } from "./arguments_schema.ts";
import { ControlTexts } from "./control_texts.ts";
import { heldTools, naming, parametersOf } from "./held_tools.ts";
import type { ToolGrammarWriter, ToolUse } from "./tool_format.ts";

/**
 * What an answer must be like that may call tools: free text up to the first call, or what `content` demands instead of
 * calls; calls alone where one is required.
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
  const calls = format.calls(writer.held(callable), parallel, writer);
  if (choice === "auto" && content === undefined) {
    const perhaps: Expression = { kind: "repeat", item: calls, least: 0, most: 1 };
    return writer.grammar(sequenceOf([writer.free(format.openers(callable)), perhaps]));
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
  private readonly merged = new MergedRules();
  private readonly controls: ControlTexts;
  /** What writing the rules costs: a list of tools may cost as much as one schema. */
  private readonly budget = new Budget();
  /** Texts that cost too much can do without: the JSON of others must not be refused for them. */
  private readonly textBudget = new Budget();

  /** The grammars of schemas, and their rules, by the schemas' texts: many tools have parameters alike. */
  private readonly grammars = new Map<string, Grammar>();
  private readonly values = new Map<string, Expression>();

  constructor(tokenizer: Tokenizer) {
    this.controls = new ControlTexts(tokenizer);
  }

  grammar(root: Expression): Grammar {
    const { merged } = this;
    return { root: merged.add("answer", root), rules: merged.rules, shared: merged.shared };
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

  sequence(...parts: readonly (Expression | string)[]): Expression {
    return sequenceOf(parts.map((part) => typeof part === "string" ? this.literal(part) : part));
  }

  json(schema: unknown, name: string): Expression {
    return this.values.getOrInsertComputed(
      JSON.stringify(schema),
      () => this.include(naming(name, () => this.grammarOf(schema)), name),
    );
  }

  arguments(tool: Tool): Expression {
    return this.json(argumentsSchema(tool), parametersOf(tool));
  }

  /** Tools whose parameters can be followed. */
  held(tools: readonly Tool[]): Tool[] {
    return heldTools(tools, (schema, budget) => this.grammarOf(schema, budget));
  }

  private grammarOf(schema: unknown, budget = this.budget): Grammar {
    return this.grammars.getOrInsertComputed(
      JSON.stringify(schema),
      () => grammarOfSchema(schema, { budget, onlyNamed: true }),
    );
  }

  until(end: string): Expression {
    return { kind: "until", ends: [encoder.encode(end)], only: "text" };
  }

  text(schema: unknown, end: string, name: string): Expression {
    return this.values.getOrInsertComputed(
      JSON.stringify([end, schema]),
      () => this.include(naming(name, () => grammarOfTexts(schema, end, this.textBudget)), name),
    );
  }

  free(ends: readonly string[]): Expression {
    return { kind: "until", ends: ends.map((end) => this.bytes(end)), only: "anything" };
  }

  rule(name: string, expression: Expression): Expression {
    return { kind: "rule", name: this.merged.add(name, expression) };
  }

  /** A grammar's rules, with a name in front of theirs. */
  include(grammar: Grammar, name: string): Expression {
    return { kind: "rule", name: this.merged.include(grammar, `${name}:`) };
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
