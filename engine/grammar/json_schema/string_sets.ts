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

/** The strings that a shape allows, as an automaton. */
export class StringSets {
  private readonly patterns = new Map<string, TextAutomaton>();

  constructor(private readonly budget: Budget) {}

  /** The strings in which a pattern is found. */
  pattern(source: string, place: string): TextAutomaton {
    return this.patterns.getOrInsertComputed(source, () => {
      this.budget.lookAtText(PARSING_WORK * source.length, place);
      return TextAutomaton.of(this.parse(source, place), this.budget.at(place));
    });
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
    return TextAutomaton.of({ kind: "choice", options: values.map(text) }, this.budget.at(place));
  }

  /** Everything that a shape says. */
  of(shape: StringShape): TextAutomaton {
    const costs = this.budget.at(shape.place);
    const lengths = TextAutomaton.ofLength(shape.least, shape.most, costs);
    let all = shape.values ? this.values(shape.values, shape.place) : lengths;
    for (const rule of shape.rules) {
      const one = this.rule(rule);
      const ruleCosts = this.budget.at(rule.place);
      all = rule.negated ? all.without(one, ruleCosts) : all.and(one, ruleCosts);
    }
    if (shape.not.length === 0) return all;
    return all.without(this.values(shape.not, shape.place), costs);
  }

  /** Those of its values that a shape allows; undefined where it does not list them. */
  listed(shape: StringShape): readonly string[] | undefined {
    if (!shape.values || shape.rules.length === 0) return shape.values;
    return shape.values.filter((value) => this.follows(value, shape.rules));
  }

  /** Whether a string is one that a shape allows. */
  admits(shape: StringShape, value: string): boolean {
    const costs = this.budget.at(shape.place);
    costs.look(1);
    if (!isWithin(value, shape, costs) || setOf(shape.not, costs).has(value)) return false;
    if (shape.values && !setOf(shape.values, costs).has(value)) return false;
    return this.follows(value, shape.rules);
  }

  /** Whether a pattern is found in a string. */
  matches(source: string, value: string, place: string): boolean {
    return this.accepts(this.pattern(source, place), value, place);
  }

  private follows(value: string, rules: readonly StringRule[]): boolean {
    return rules.every((rule) => this.accepts(this.rule(rule), value, rule.place) !== rule.negated);
  }

  private accepts(automaton: TextAutomaton, value: string, place: string): boolean {
    this.budget.look(1, place);
    return automaton.accepts(value, this.budget.at(place));
  }

  private rule({ kind, name, place }: StringRule): TextAutomaton {
    return this.pattern(kind === "format" ? FORMATS.get(name)! : name, place);
  }
}
