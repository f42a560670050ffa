import type { CodePointRange, Expression } from "../grammar.ts";
import { parseRegex } from "../regex.ts";
import { normalizeRanges } from "../utf8_ranges.ts";
import type { RuleWriter } from "./rule_writer.ts";
import { among, choice, EMPTY, NOTHING, repeat, sequence, text } from "../expressions.ts";
import { ANY_STRING, type StringShape } from "./shapes.ts";
import type { TextAutomaton } from "./text_automaton.ts";

const QUOTE = text('"');
/** What stands in a string as it is. */
const PLAIN: readonly CodePointRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0xd7ff],
  [0xe000, 0x10ffff],
];
/** A character as it is, or escaped: by a letter, or by the four digits of a character, or twice four of its halves. */
const CHARACTER = parseRegex(
  String.raw`[ -!#-[\]-\ud7ff\ue000-\u{10ffff}]|\\(?:["\\/bfnrt]|u(?:` +
    String.raw`(?:(?:[0-9]|[A-CE-Fa-ce-f])[0-9A-Fa-f]{3}|[Dd][0-7][0-9A-Fa-f]{2})|` +
    String.raw`[Dd][89ABab][0-9A-Fa-f]{2}\\u[Dd][C-Fc-f][0-9A-Fa-f]{2}))`,
);

/** What it costs to write a value of a list, as to look at one. */
const VALUE_WORK = 2;

/**
 * JSON strings of a shape. Where anything is said of them but their length, a character has one spelling: escaped if
 * it must be, by the short escape if there is one.
 */
export function stringsOf(emitter: RuleWriter, shape: StringShape): Expression {
  const { budget, strings } = emitter.reader;
  const listed = strings.listed(shape);
  if (listed) {
    budget.look(VALUE_WORK * listed.length, shape.place);
    return choice(...listed.map((value) => text(JSON.stringify(value))));
  }
  if (shape.rules.length === 0 && shape.not.length === 0) return freeString(emitter, shape);
  return quoted(emitter, strings.of(shape));
}

/** Any strings of so many characters. */
export function freeString(
  emitter: RuleWriter,
  { least, most }: Pick<StringShape, "least" | "most"> = ANY_STRING,
): Expression {
  const isAny = least === 0 && most === undefined;
  return emitter.rule(isAny ? "string" : `string of ${least} to ${most}`, () => {
    const character = emitter.rule("character", () => CHARACTER);
    return sequence(QUOTE, repeat(character, least, most), QUOTE);
  });
}

/** The strings of an automaton, as JSON. */
export function quoted(emitter: RuleWriter, automaton: TextAutomaton): Expression {
  if (automaton.isEmpty) return NOTHING;
  return sequence(QUOTE, automatonRule(emitter, automaton, "quoted"));
}

/** Automata of more states than these are not compared with others. */
const MOST_SHARED_STATES = 64;

/**
 * A rule for each state of an automaton from which there is more than one way, what follows it inside;
 * `quoted`: characters as in JSON strings, and a quote at the end.
 */
export function automatonRule(
  emitter: RuleWriter,
  automaton: TextAutomaton,
  style: "plain" | "quoted",
): Expression {
  if (automaton.isEmpty) return NOTHING;
  const { states } = automaton;
  // The same names are left out in many places: what is small is written once.
  const id = states.length > MOST_SHARED_STATES
    ? emitter.freshName("automaton")
    : emitter.sharedName("automaton", style + JSON.stringify(states));
  const end = style === "quoted" ? QUOTE : EMPTY;
  const spell = style === "quoted" ? spelled : asTheyAre;
  const state = (number: number): Expression =>
    emitter.rule(`${id}:${number}`, () => {
      const byTarget = new Map<number, CodePointRange[]>();
      for (const { first, last, target } of states[number].steps) {
        byTarget.getOrInsertComputed(target, () => []).push([first, last]);
      }
      const options: Expression[] = states[number].accepts ? [end] : [];
      for (const [target, ranges] of byTarget) {
        if (target !== number) options.push(sequence(spell(ranges), state(target)));
      }
      const again = byTarget.get(number);
      if (!again) return choice(...options);
      return sequence(repeat(spell(again), 0), choice(...options));
    });
  return state(0);
}

/** One of these characters; halves of characters are none. */
function asTheyAre(ranges: CodePointRange[]): Expression {
  const found = normalizeRanges(ranges);
  return found.length > 0 ? among(...found) : NOTHING;
}

function within(
  ranges: readonly CodePointRange[],
  bounds: readonly CodePointRange[],
): CodePointRange[] {
  return ranges.flatMap(([first, last]) =>
    bounds.flatMap(([low, high]): CodePointRange[] => {
      const range: CodePointRange = [Math.max(first, low), Math.min(last, high)];
      return range[0] <= range[1] ? [range] : [];
    })
  );
}

/** One of these characters as it is written in a string. */
function spelled(ranges: CodePointRange[]): Expression {
  const options: Expression[] = [];
  const plain = within(ranges, PLAIN);
  if (plain.length > 0) options.push(among(...plain));
  for (const code of ESCAPED) {
    if (!ranges.some(([first, last]) => first <= code && code <= last)) continue;
    options.push(text(JSON.stringify(String.fromCodePoint(code)).slice(1, -1)));
  }
  return choice(...options);
}

const ESCAPED = [...Array.from({ length: 0x20 }, (_, code) => code), 0x22, 0x5c];
