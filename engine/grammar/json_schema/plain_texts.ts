import type { Expression, Grammar } from "../grammar.ts";
import { automatonRule } from "./emit_strings.ts";
import { Emitter } from "./emitter.ts";
import { among, choice, repeat, sequence, text } from "../expressions.ts";
import { type Budget, refusal } from "./limits.ts";
import { prune } from "./prune.ts";
import { Reader } from "./reader.ts";
import type { StringShape } from "./shapes.ts";
import { TextAutomaton } from "./text_automaton.ts";

/** Lengths up to this are counted: each takes as many states as the mark has characters. */
const MOST_COUNTED = 32;
/** What a state costs: it has many more steps than those of other automata, which all become rules. */
const STATE_WORK = 150;

/**
 * The grammar of the strings that a schema accepts and that a mark does not stand in, as they are, without quotes and
 * escapes: for notations in which a text ends where the mark comes.
 *
 * @param end The mark, not empty, and with no prefix that is also its suffix.
 * @throws {M40Error} "invalid_request" as `grammarOfSchema` does, and for lengths that are too large to be counted.
 */
export function grammarOfTexts(schema: unknown, end: string, budget: Budget): Grammar {
  const reader = new Reader(schema, budget);
  const root = { place: reader.document.at(""), negated: false };
  const { strings } = reader.readAll([root]);
  const emitter = new Emitter(reader, true);
  const any = repeat(among([0, 0x10ffff]), 0);
  const marked = TextAutomaton.of(sequence(any, text(end), any), budget.at(""));
  const options = strings.map((shape): Expression => {
    const listed = reader.strings.listed(shape);
    if (listed !== undefined) {
      budget.look(listed.length, shape.place);
      return choice(...listed.filter((one) => isBefore(one, end)).map(text));
    }
    const costs = budget.at(shape.place);
    const automaton = reader.strings.of(counted(shape)).without(marked, costs);
    costs.spend(STATE_WORK * automaton.states.length);
    return automatonRule(emitter, automaton, "plain");
  });
  return prune(emitter.rulesOf(choice(...options)));
}

/** Whether a mark behind a text is found where it is. */
function isBefore(one: string, end: string): boolean {
  return `${one}${end}`.indexOf(end) === one.length;
}

function counted(shape: StringShape): StringShape {
  const { least, most, place } = shape;
  if (Math.max(least, most ?? 0) > MOST_COUNTED) {
    throw refusal(
      place,
      `lengths over ${MOST_COUNTED} are not counted where texts are written as they are; leave it out`,
    );
  }
  return shape;
}
