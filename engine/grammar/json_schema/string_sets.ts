/**
 * The strings that a shape allows, as an automaton.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import type { Expression } from "../grammar.ts";
import { parseRegex } from "../regex.ts";
import { text } from "../expressions.ts";
import { FORMATS } from "./formats.ts";
import { type Budget, refusal } from "./limits.ts";
import { setOf } from "./list_sets.ts";
import { isWithin, type StringRule, type StringShape } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

/** What it costs to parse a character of a pattern, as to copied ones. */
const PARSING_WORK = 8;

export class StringSets {
  private readonly patterns = new Map<string, TextAutomaton>();

  constructor(private readonly budget: Budget) {}

  /** The strings in which a pattern is found. */
  pattern(source: string, place: string): TextAutomaton {
    const known = this.patterns.get(source);
    if (known) return known;
    this.budget.lookAtText(PARSING_WORK * source.length, place);
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
    // So many that they are no arguments of a function: the keys of an object are not limited before.
    return TextAutomaton.of({ kind: "choice", options: values.map(text) }, this.budget, place);
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
    if (!shape.values || shape.rules.length === 0) return shape.values;
    return shape.values.filter((value) => this.follows(value, shape.rules));
  }

  /** Whether a string is one that a shape allows. */
  admits(shape: StringShape, value: string): boolean {
    this.budget.look(1, shape.place);
    if (!isWithin(value, shape, this.budget, shape.place)) return false;
    if (this.isIn(shape.not, value, shape.place)) return false;
    if (shape.values && !this.isIn(shape.values, value, shape.place)) return false;
    return this.follows(value, shape.rules);
  }

  /** Whether a pattern is found in a string. */
  matches(source: string, value: string, place: string): boolean {
    return this.accepts(this.pattern(source, place), value, place);
  }

  private isIn(list: readonly string[], value: string, place: string): boolean {
    return setOf(list, this.budget, place).has(value);
  }

  private follows(value: string, rules: readonly StringRule[]): boolean {
    return rules.every((rule) => this.accepts(this.rule(rule), value, rule.place) !== rule.negated);
  }

  private accepts(automaton: TextAutomaton, value: string, place: string): boolean {
    this.budget.look(1, place);
    return automaton.accepts(value, this.budget, place);
  }

  private rule({ kind, name, place }: StringRule): TextAutomaton {
    return this.pattern(kind === "format" ? FORMATS.get(name)! : name, place);
  }
}
