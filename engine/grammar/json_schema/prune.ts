/**
 * Removes what cannot end: options that no text matches, and rules that nothing names any more.
 *
 * @module
 */
import type { Expression, Grammar } from "../grammar.ts";
import { hasCharacter } from "../utf8_ranges.ts";
import { choice, EMPTY, NOTHING, sequence } from "./expressions.ts";
import { refusal } from "./limits.ts";

/** The same texts, with every prefix of one continuable. */
export function prune({ root, rules }: Grammar): Grammar {
  const productive = productiveRules(rules);
  if (!productive.has(root)) throw refusal("", "no value follows this schema");
  const kept = new Map<string, Expression>();
  const pending = [root];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (kept.has(name)) continue;
    const expression = simplify(rules.get(name)!, productive);
    kept.set(name, expression);
    for (const other of rulesIn(expression)) pending.push(other);
  }
  return { root, rules: kept };
}

function productiveRules(rules: ReadonlyMap<string, Expression>): ReadonlySet<string> {
  const productive = new Set<string>();
  const users = new Map<string, string[]>();
  for (const [name, expression] of rules) {
    for (const other of rulesIn(expression)) {
      const known = users.get(other);
      if (known) known.push(name);
      else users.set(other, [name]);
    }
  }
  const ends = (expression: Expression): boolean => {
    switch (expression.kind) {
      case "literal":
      case "token":
      case "until":
        return true;
      case "characters":
        return hasCharacter(expression.ranges, expression.negated);
      case "sequence":
        return expression.items.every(ends);
      case "choice":
        return expression.options.some(ends);
      case "repeat":
        return expression.least === 0 || ends(expression.item);
      case "rule":
        return productive.has(expression.name);
    }
  };
  const pending = [...rules.keys()];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (productive.has(name) || !ends(rules.get(name)!)) continue;
    productive.add(name);
    pending.push(...users.get(name) ?? []);
  }
  return productive;
}

function* rulesIn(expression: Expression): Generator<string> {
  switch (expression.kind) {
    case "rule":
      yield expression.name;
      return;
    case "repeat":
      return yield* rulesIn(expression.item);
    case "sequence":
      for (const item of expression.items) yield* rulesIn(item);
      return;
    case "choice":
      for (const option of expression.options) yield* rulesIn(option);
  }
}

const isNothing = (expression: Expression) =>
  expression.kind === "choice" && expression.options.length === 0;

function simplify(expression: Expression, productive: ReadonlySet<string>): Expression {
  switch (expression.kind) {
    case "rule":
      return productive.has(expression.name) ? expression : NOTHING;
    case "sequence": {
      const items = expression.items.map((item) => simplify(item, productive))
        .flatMap((item) => item.kind === "sequence" ? item.items : [item]);
      return items.some(isNothing) ? NOTHING : sequence(...items);
    }
    case "choice": {
      const options = expression.options.map((option) => simplify(option, productive));
      return choice(...options.filter((option) => !isNothing(option)));
    }
    case "repeat": {
      if (expression.most === 0) return EMPTY;
      const item = simplify(expression.item, productive);
      if (isNothing(item)) return expression.least === 0 ? EMPTY : NOTHING;
      return { ...expression, item };
    }
    default:
      return expression;
  }
}
