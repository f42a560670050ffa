import type { CharacterClass, CodePointRange, Expression } from "./grammar.ts";
import { hasCharacter } from "./utf8_ranges.ts";

/** The empty text. */
export const EMPTY: Expression = { kind: "sequence", items: [] };
/** Matches nothing at all. */
export const NOTHING: Expression = { kind: "choice", options: [] };
/** Any character at all. */
export const ANY_CHARACTER: CharacterClass = { kind: "characters", ranges: [], negated: true };

export const text = (text: string): Expression => ({ kind: "literal", text });

export const among = (...ranges: CodePointRange[]): CharacterClass => ({
  kind: "characters",
  ranges,
});

/** One after the other; one item is itself. */
export function sequenceOf(items: readonly Expression[]): Expression {
  return items.length === 1 ? items[0] : { kind: "sequence", items };
}

export const sequence = (...items: Expression[]): Expression => sequenceOf(items);

/** Any of these; one option is itself. */
export function choiceOf(options: readonly Expression[]): Expression {
  return options.length === 1 ? options[0] : { kind: "choice", options };
}

export const choice = (...options: Expression[]): Expression => choiceOf(options);

export function repeat(item: Expression, least: number, most?: number): Expression {
  if (least === 1 && most === 1) return item;
  return { kind: "repeat", item, least, most };
}

export const optional = (item: Expression): Expression => repeat(item, 0, 1);

export const DIGIT = among([0x30, 0x39]);

/** One digit from the first to the last. */
export function digits(first: number, last: number): Expression {
  return first === last ? text(String(first)) : among([0x30 + first, 0x30 + last]);
}

/** Whether a number is a code point that text may have: surrogates are none. */
export function isCharacter(code: number): boolean {
  return code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/** A range of one character. */
export function single(code: number): CodePointRange {
  return [code, code];
}

/** The expressions that one is made of. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "sequence":
      return expression.items;
    case "choice":
      return expression.options;
    case "repeat":
      return [expression.item];
    default:
      return [];
  }
}

/** The same expression of changed parts. */
export function withParts(
  expression: Expression,
  change: (part: Expression) => Expression,
): Expression {
  switch (expression.kind) {
    case "sequence":
      return { kind: "sequence", items: expression.items.map(change) };
    case "choice":
      return { kind: "choice", options: expression.options.map(change) };
    case "repeat":
      return { ...expression, item: change(expression.item) };
    default:
      return expression;
  }
}

/** The rules that an expression names, in its order, each as often as it does. */
export function rulesIn(expression: Expression, found: string[] = []): string[] {
  if (expression.kind === "rule") found.push(expression.name);
  for (const part of partsOf(expression)) rulesIn(part, found);
  return found;
}

/**
 * The rules for which something holds that follows from the rules that they name, for as many as it follows for.
 *
 * @param holds Whether it holds for an expression, if it does for these rules and no others.
 */
export function rulesWhere(
  rules: ReadonlyMap<string, Expression>,
  holds: (expression: Expression, known: ReadonlySet<string>) => boolean,
): ReadonlySet<string> {
  // Rules that name a rule are looked at again when that is known, so that long chains take no time.
  const users = new Map<string, Set<string>>();
  for (const [name, expression] of rules) {
    for (const named of rulesIn(expression)) {
      users.getOrInsertComputed(named, () => new Set()).add(name);
    }
  }
  const known = new Set<string>();
  const left = [...rules.keys()];
  for (let name = left.pop(); name !== undefined; name = left.pop()) {
    if (known.has(name) || !holds(rules.get(name)!, known)) continue;
    known.add(name);
    left.push(...users.get(name) ?? []);
  }
  return known;
}

/** Whether classes have any character: they are looked at again and again. */
const inhabited = new WeakMap<Expression, boolean>();

/**
 * Whether any text matches.
 *
 * @param productive The rules that any text matches.
 * @param look Called for every part that is looked at.
 */
export function isProductive(
  expression: Expression,
  productive: ReadonlySet<string>,
  look: () => void = () => {},
): boolean {
  look();
  const holds = (part: Expression) => isProductive(part, productive, look);
  switch (expression.kind) {
    case "literal":
    case "token":
    case "until":
      return true;
    case "characters": {
      const { ranges, negated } = expression;
      return inhabited.getOrInsertComputed(expression, () => hasCharacter(ranges, negated));
    }
    case "sequence":
      return expression.items.every(holds);
    case "choice":
      return expression.options.some(holds);
    case "repeat":
      return expression.least === 0 || holds(expression.item);
    case "rule":
      return productive.has(expression.name);
  }
}
