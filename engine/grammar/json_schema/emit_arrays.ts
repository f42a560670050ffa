import type { Expression } from "../grammar.ts";
import type { RuleWriter } from "./rule_writer.ts";
import {
  choice,
  choiceOf,
  EMPTY,
  NOTHING,
  optional,
  repeat,
  sequence,
  text,
} from "../expressions.ts";
import { MAX_STATES, refusal } from "./limits.ts";
import { itemSchemas, prefixOf } from "./property_schemas.ts";
import { type ArrayShape, type Literal, not } from "./shapes.ts";
import { isVacant } from "./vacant.ts";
import { valuesOf } from "./finite_values.ts";

/** Values of which each may be in an array once. */
const MOST_DISTINCT = 8;

/** JSON arrays of a shape. */
export function arrayOf(emitter: RuleWriter, shape: ArrayShape, place: string): Expression {
  const items = shape.unique !== undefined && (shape.most ?? Infinity) > 1
    ? distinctItems(emitter, shape, shape.unique)
    : shape.contains.length > 0
    ? countedItems(emitter, shape, place)
    : plainItems(emitter, shape, place);
  return sequence(text("["), items, text("]"));
}

/** Items that need not know of each other. */
function plainItems(emitter: RuleWriter, shape: ArrayShape, place: string): Expression {
  const fixed = Math.min(prefixOf(shape), shape.most ?? Infinity);
  const comma = emitter.punctuation(",");
  const item = (index: number) =>
    emitter.value(itemSchemas(shape, index, emitter.reader), `${place}/items/${index}`);
  const room = shape.most === undefined ? undefined : shape.most - fixed;
  const missing = Math.max(shape.least - fixed, 0);
  const key = emitter.freshName("items");
  const rest = (before: number): Expression => {
    if (room === 0) return EMPTY;
    const more = sequence(comma, item(fixed));
    if (before > 0) return repeat(more, missing, room);
    const some = sequence(
      item(fixed),
      repeat(more, Math.max(missing - 1, 0), room === undefined ? room : room - 1),
    );
    return missing > 0 ? some : optional(some);
  };
  const from = (index: number): Expression => {
    if (index === fixed) return rest(index);
    return emitter.rule(`${key}:${index}`, () => {
      const present = sequence(...(index > 0 ? [comma] : []), item(index), from(index + 1));
      return index >= shape.least ? optional(present) : present;
    });
  };
  return from(0);
}

/** Items of which that many must follow one schema, and that many another: those so far are counted. */
function countedItems(emitter: RuleWriter, shape: ArrayShape, place: string): Expression {
  const { contains } = shape;
  const prefix = prefixOf(shape);
  const fixed = Math.max(prefix, shape.least, shape.most ?? 0);
  const states = contains.map(({ least, most }) => Math.max(least, most ?? 0) + 1)
    .reduce((all, one) => all * one, fixed + 1);
  // As many counts of two and more would be too many states.
  if (2 ** contains.length > MAX_STATES || states > MAX_STATES) {
    throw refusal(
      contains[0].place,
      "items that are counted in several ways, or up to too large a number; use smaller numbers",
    );
  }
  const key = emitter.freshName("containing");
  /** What may come from an item on, after that many of each kind. */
  const from = (index: number, counts: readonly number[]): Expression => {
    if (contains.some(({ most }, i) => counts[i] > (most ?? Infinity))) return NOTHING;
    return emitter.rule(`${key}:${index}:${counts}`, () => {
      const enough = contains.every(({ least }, i) => counts[i] >= least);
      const options: Expression[] = enough && index >= shape.least ? [EMPTY] : [];
      if (index < (shape.most ?? Infinity)) options.push(...items(index, counts));
      return choiceOf(options);
    });
  };
  /** The item of that index, of every set of kinds that it may be of, and what comes behind it. */
  const items = (index: number, counts: readonly number[]): Expression[] =>
    Array.from({ length: 2 ** contains.length }, (_, set) => {
      const literals = [...itemSchemas(shape, Math.min(index, prefix), emitter.reader)];
      const behind = contains.map(({ item, least, most }, i) => {
        const counted = set >> i & 1;
        if (counted) literals.push(item);
        // One too many is noticed only if those that do not count surely do not.
        else if (most !== undefined) literals.push(not(item));
        const enough = most === undefined ? least : most + 1;
        return Math.min(counts[i] + counted, enough);
      });
      const separator = index > 0 ? [emitter.punctuation(",")] : [];
      const value = emitter.value(literals, `${place}/items`);
      // Behind the prefix all items are alike, but the first needs no comma.
      const next = Math.min(index + 1, Math.max(fixed, 1));
      return sequence(...separator, value, from(next, behind));
    });
  return from(0, contains.map(() => 0));
}

/** Items that all differ: of a few values each once, or of schemas that have nothing in common. */
function distinctItems(emitter: RuleWriter, shape: ArrayShape, place: string): Expression {
  const { reader } = emitter;
  const fixed = prefixOf(shape);
  const items = Array.from({ length: fixed + 1 }, (_, i) => itemSchemas(shape, i, reader));
  if (shape.contains.length === 0 && areDistinct(emitter, shape, items)) {
    return plainItems(emitter, { ...shape, unique: undefined }, place);
  }
  const values = fixed === 0 ? valuesOf(reader.readAll(items[0]), reader) : undefined;
  if (!values || values.length > MOST_DISTINCT || shape.contains.length > 0) {
    throw refusal(
      place,
      "that items differ is possible only where they are an enum of at most " +
        `${MOST_DISTINCT} values, or tuples whose items cannot be equal; leave it out`,
    );
  }
  const key = emitter.freshName("distinct");
  const from = (used: number, count: number): Expression =>
    emitter.rule(`${key}:${used}`, () => {
      const options: Expression[] = count >= shape.least ? [EMPTY] : [];
      if (count < (shape.most ?? Infinity)) {
        values.forEach((value, i) => {
          if (used >> i & 1) return;
          const separator = count > 0 ? [emitter.punctuation(",")] : [];
          options.push(sequence(...separator, value, from(used | 1 << i, count + 1)));
        });
      }
      return choice(...options);
    });
  return from(0, 0);
}

/** Whether no two items of a tuple can be equal. */
function areDistinct(
  { reader }: RuleWriter,
  shape: ArrayShape,
  items: readonly (readonly Literal[])[],
): boolean {
  const fixed = items.length - 1;
  const room = (shape.most ?? Infinity) - fixed;
  const last = room > 0 && !isVacant(reader.readAll(items[fixed]), reader) ? fixed + 1 : fixed;
  if (last > fixed && room > 1) return false;
  return items.slice(0, last).every((a, i) =>
    items.slice(i + 1, last).every((b) => isVacant(reader.readAll([...a, ...b]), reader))
  );
}
