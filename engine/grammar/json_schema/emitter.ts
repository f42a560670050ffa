import type { Expression, Grammar } from "../grammar.ts";
import { arrayOf } from "./emit_arrays.ts";
import { numbersOf } from "./emit_numbers.ts";
import { objectOf } from "./emit_objects.ts";
import { automatonRule, stringsOf } from "./emit_strings.ts";
import { choiceOf, optional, sequence, text } from "../expressions.ts";
import { keyOf, type SchemaReader } from "./reading.ts";
import type { RuleWriter } from "./rule_writer.ts";
import type { Alternatives, Literal } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

/** Writes the rules of a grammar: a rule for each set of schemas that a value must follow together. */
export class Emitter implements RuleWriter {
  private readonly rules = new Map<string, Expression>();
  private readonly names = new Map<string, string>();
  private readonly pending: (() => void)[] = [];
  private readonly shared = new Map<string, string>();
  private fresh = 0;

  constructor(readonly reader: SchemaReader, readonly onlyNamed: boolean) {}

  /** The grammar of a schema and everything that it refers to. */
  grammar(root: Literal): Grammar {
    return this.rulesOf(this.value([root], root.place.pointer));
  }

  /** The grammar of an expression that was made with this emitter's rules. */
  rulesOf(value: Expression): Grammar {
    const name = this.rule("root", () => value).name;
    for (let next = this.pending.pop(); next; next = this.pending.pop()) next();
    return { root: name, rules: this.rules };
  }

  value(literals: readonly Literal[], place: string): Expression {
    this.reader.budget.spend(literals.length, place);
    const keys = literals.filter(({ place, negated }) => place.schema !== !negated).map(keyOf);
    const key = [...new Set(keys)].sort().join("\n");
    return this.rule(`value:${key}`, () => this.body(this.reader.readAll(literals), place));
  }

  rule(key: string, make: () => Expression): Extract<Expression, { kind: "rule" }> {
    const name = this.names.getOrInsertComputed(key, () => {
      this.reader.budget.rule("");
      const name = /^[a-z]+$/.test(key) ? key : `r${this.names.size}`;
      this.pending.push(() => this.rules.set(name, make()));
      return name;
    });
    return { kind: "rule", name };
  }

  freshName(kind: string): string {
    return `${kind} ${this.fresh++}`;
  }

  sharedName(kind: string, content: string): string {
    return this.shared.getOrInsertComputed(content, () => this.freshName(kind));
  }

  punctuation(mark: "," | ":"): Expression {
    return this.rule(mark, () => sequence(text(mark), optional(text(" "))));
  }

  private body(all: Alternatives, place: string): Expression {
    const { budget } = this.reader;
    const options: Expression[] = [];
    if (all.null) options.push(text("null"));
    for (const value of all.booleans) options.push(text(String(value)));
    for (const shape of all.numbers) {
      const numbers = numbersOf(shape, budget);
      options.push(
        numbers instanceof TextAutomaton ? automatonRule(this, numbers, "plain") : numbers,
      );
    }
    for (const shape of all.strings) options.push(stringsOf(this, shape));
    for (const shape of all.arrays) options.push(arrayOf(this, shape, place));
    for (const shape of all.objects) options.push(objectOf(this, shape, place));
    budget.spend(options.length, place);
    return choiceOf(options);
  }
}
