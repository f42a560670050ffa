/**
 * The strings that a shape allows, as an automaton.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import type { Expression } from "../grammar.ts";
import { parseRegex } from "../regex.ts";
import { choice, text } from "./expressions.ts";
import { FORMATS } from "./formats.ts";
import { type Budget, refusal } from "./limits.ts";
import type { StringRule, StringShape } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

export class StringSets {
  private readonly patterns = new Map<string, TextAutomaton>();

  constructor(private readonly budget: Budget) {}

  /** The strings in which a pattern is found. */
  pattern(source: string, place: string): TextAutomaton {
    const known = this.patterns.get(source);
    if (known) return known;
    const automaton = TextAutomaton.of(this.parse(source, place), this.budget, place);
    this.patterns.set(source, automaton);
    return automaton;
  }

  private parse(source: string, place: string): Expression {
    try {
      return parseRegex(source, { param: "pattern", search: true });
    } catch (error) {
      if (error instanceof M40Error) throw refusal(place, error.message);
      throw error;
    }
  }

  /** Just these strings. */
  values(values: readonly string[], place: string): TextAutomaton {
    return TextAutomaton.of(choice(...values.map(text)), this.budget, place);
  }

  /** Everything that a shape says. */
  of(shape: StringShape): TextAutomaton {
    const { budget } = this;
    const lengths = TextAutomaton.ofLength(shape.least, shape.most, budget, shape.place);
    let all = shape.values ? this.values(shape.values, shape.place) : lengths;
    for (const rule of shape.rules) {
      const one = this.rule(rule);
      all = rule.negated ? all.without(one, budget, rule.place) : all.and(one, budget, rule.place);
    }
    if (shape.not.length === 0) return all;
    return all.without(this.values(shape.not, shape.place), budget, shape.place);
  }

  /** Those of its values that a shape allows; undefined where it does not list them. */
  listed(shape: StringShape): readonly string[] | undefined {
    return shape.values?.filter((value) =>
      shape.rules.every((rule) => this.rule(rule).accepts(value) !== rule.negated)
    );
  }

  /** Whether a string is one that a shape allows. */
  admits(shape: StringShape, value: string): boolean {
    const length = [...value].length;
    if (length < shape.least || length > (shape.most ?? Infinity)) return false;
    if (shape.not.includes(value) || (shape.values && !shape.values.includes(value))) return false;
    return shape.rules.every((rule) => this.rule(rule).accepts(value) !== rule.negated);
  }

  private rule({ kind, name, place }: StringRule): TextAutomaton {
    return this.pattern(kind === "format" ? FORMATS.get(name)! : name, place);
  }
}
