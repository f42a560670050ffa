import {
  choiceOf,
  EMPTY,
  isProductive,
  NOTHING,
  rulesIn,
  rulesWhere,
  sequenceOf,
  withParts,
} from "../expressions.ts";
import type { Expression, Grammar } from "../grammar.ts";
import { refusal } from "./limits.ts";

/** The same texts, with every prefix of one continuable. */
export function prune({ root, rules }: Grammar): Grammar {
  const productive = rulesWhere(rules, isProductive);
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

const isNothing = (expression: Expression) =>
  expression.kind === "choice" && expression.options.length === 0;

function simplify(expression: Expression, productive: ReadonlySet<string>): Expression {
  const simple = withParts(expression, (part) => simplify(part, productive));
  switch (simple.kind) {
    case "rule":
      return productive.has(simple.name) ? simple : NOTHING;
    case "sequence": {
      const items = simple.items.flatMap((item) => item.kind === "sequence" ? item.items : [item]);
      return items.some(isNothing) ? NOTHING : sequenceOf(items);
    }
    case "choice":
      return choiceOf(simple.options.filter((option) => !isNothing(option)));
    case "repeat":
      if (simple.most === 0) return EMPTY;
      if (isNothing(simple.item)) return simple.least === 0 ? EMPTY : NOTHING;
      return simple;
    default:
      return simple;
  }
}
