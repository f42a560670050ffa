import type { Expression } from "../grammar.ts";
import type { RuleWriter } from "./rule_writer.ts";
import { freeString, quoted } from "./emit_strings.ts";
import { choice, EMPTY, NOTHING, optional, repeat, sequence, text } from "../expressions.ts";
import { refusal } from "./limits.ts";
import { setOf } from "./list_sets.ts";
import { schemasOf, schemasWhere } from "./property_schemas.ts";
import { ANY_STRING, type Literal, type ObjectShape } from "./shapes.ts";

/** Patterns of names that may be combined. */
const MOST_PATTERNS = 6;

/** What it costs to make a member, as to look at a key. */
const KEY_WORK = 4;

interface Member {
  readonly expression: Expression;
  readonly required: boolean;
}

/**
 * JSON objects of a shape: the properties that are named, in their order, the optional ones with or without, then
 * others.
 */
export function objectOf(emitter: RuleWriter, shape: ObjectShape, place: string): Expression {
  const { budget } = emitter.reader;
  const wanted = setOf(shape.required, budget.at(shape.place));
  const keys = new Set<string>();
  for (const { properties } of shape.parts) {
    budget.look(properties.size, shape.place);
    for (const key of properties.keys()) keys.add(key);
  }
  for (const key of wanted) keys.add(key);
  budget.look(KEY_WORK * keys.size, shape.place);
  const members = [...keys].flatMap((key): Member[] => {
    const required = wanted.has(key);
    const schemas = schemasOf(shape, key, emitter.reader);
    if (schemas.some(isNothing)) return required ? [{ expression: NOTHING, required }] : [];
    const value = emitter.value(schemas, `${place}/properties/${key}`);
    return [{ expression: member(emitter, text(JSON.stringify(key)), value), required }];
  });
  const closed = emitter.onlyNamed && keys.size > 0 && shape.least <= members.length &&
    saysNothingOfOthers(shape);
  const others = closed ? undefined : otherMembers(emitter, shape, keys, place);
  if (shape.least > members.length + 1 && others) {
    throw refusal(
      shape.leastPlace ?? shape.place,
      `at least ${shape.least} properties are wanted, of which ${members.length} have names in the ` +
        "schema: of those without, no grammar can ensure that they differ. Name them in properties",
    );
  }
  return sequence(text("{"), membersOf(emitter, members, others, shape), text("}"));
}

const isNothing = ({ place, negated }: Literal) => place.schema === negated;

const member = (emitter: RuleWriter, key: Expression, value: Expression) =>
  sequence(key, emitter.punctuation(":"), value);

/** One after the other, distinguished by how many came before, as far as that matters. */
function membersOf(
  emitter: RuleWriter,
  members: readonly Member[],
  others: Expression | undefined,
  { least, most = Infinity }: ObjectShape,
): Expression {
  const key = emitter.freshName("members");
  // All are counted where there may not be so many, or not so few.
  const limited = others ? Number.isFinite(most) : most < members.length;
  /** More than that many need not be distinguished from it. */
  const cap = limited ? most + 1 : Math.max(1, least);
  /** What may come from a member on, after that many. */
  const from = (index: number, before: number): Expression => {
    const count = Math.min(before, cap);
    if (count > most) return NOTHING;
    if (index === members.length) return end(count);
    return emitter.rule(`${key}:${index}:${count}`, () => {
      const { expression, required } = members[index];
      const separator = count > 0 ? [emitter.punctuation(",")] : [];
      const present = sequence(...separator, expression);
      // Where it is not counted, what follows is the same with it and without.
      if (!required && Math.min(count + 1, cap) === count) {
        return sequence(optional(present), from(index + 1, count));
      }
      const behind = sequence(present, from(index + 1, count + 1));
      return required ? behind : choice(behind, from(index + 1, count));
    });
  };
  /** Members without names in the schema. They may repeat each other, so only the first surely counts. */
  const end = (before: number): Expression => {
    const missing = least - before;
    const room = most - before;
    if (!others || room === 0) return missing > 0 ? NOTHING : EMPTY;
    if (missing > 1) return NOTHING;
    const last = Number.isFinite(room) ? room : undefined;
    const next = sequence(emitter.punctuation(","), others);
    if (before > 0) return repeat(next, Math.max(missing, 0), last);
    const some = sequence(others, repeat(next, 0, last === undefined ? last : last - 1));
    return missing > 0 ? some : optional(some);
  };
  return from(0, 0);
}

/** Whether nothing is said of members without names in the schema, not even that they may be there. */
function saysNothingOfOthers({ parts, names }: ObjectShape): boolean {
  return names.length === 0 &&
    parts.every(({ additional, patterns }) => additional === undefined && patterns.length === 0);
}

/** A member whose name is none of `keys`; undefined where there can be none. */
function otherMembers(
  emitter: RuleWriter,
  shape: ObjectShape,
  keys: ReadonlySet<string>,
  place: string,
): Expression | undefined {
  const { reader } = emitter;
  const patterns = new Map(
    shape.parts.flatMap((part) => part.patterns.map((one) => [one.pattern, one.place] as const)),
  );
  if (patterns.size > MOST_PATTERNS) {
    throw refusal(
      [...patterns.values()][0],
      `${patterns.size} patterns of names meet here; at most ${MOST_PATTERNS} can be combined`,
    );
  }
  const names = shape.names.length > 0 ? reader.readAll(shape.names).strings : [ANY_STRING];
  const options: Expression[] = [];
  for (let set = 0; set < 2 ** patterns.size; set++) {
    const chosen = new Set([...patterns.keys()].filter((_, i) => set >> i & 1));
    const schemas = schemasWhere(shape, undefined, (pattern) => chosen.has(pattern), reader);
    if (schemas.some(isNothing)) continue;
    const value = () => emitter.value(schemas, `${place}/additionalProperties`);
    if (patterns.size === 0 && keys.size === 0 && names.includes(ANY_STRING)) {
      return emitter.rule(
        emitter.freshName("member"),
        () => member(emitter, freeString(emitter), value()),
      );
    }
    for (const name of names) {
      let automaton = reader.strings.of(name);
      for (const [pattern, at] of patterns) {
        const one = reader.strings.pattern(pattern, at);
        const costs = reader.budget.at(at);
        automaton = chosen.has(pattern) ? automaton.and(one, costs) : automaton.without(one, costs);
      }
      if (keys.size > 0) {
        const named = reader.strings.values([...keys], shape.place);
        automaton = automaton.without(named, reader.budget.at(shape.place));
      }
      if (!automaton.isEmpty) options.push(member(emitter, quoted(emitter, automaton), value()));
    }
  }
  if (options.length === 0) return undefined;
  return emitter.rule(emitter.freshName("member"), () => choice(...options));
}
