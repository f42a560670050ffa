import { rulesIn, withParts } from "./expressions.ts";
import type { Expression, Grammar } from "./grammar.ts";

/**
 * Rules of several grammars, put together. Those that say the same are there once: tools take strings and numbers
 * again and again.
 */
export class MergedRules {
  readonly rules: Map<string, Expression> = new Map();
  /** Rules that several others came to. */
  readonly shared: Set<string> = new Set();
  /** Rules that no rule before them leads back to, by what they say. */
  private readonly known = new Map<string, string>();

  /**
   * Puts a rule of one's own among them.
   *
   * @param name What it is to be called; another name where that is taken.
   * @returns Its name.
   */
  add(name: string, expression: Expression): string {
    let unused = name;
    for (let i = 2; this.rules.has(unused); i++) unused = `${name} ${i}`;
    this.rules.set(unused, expression);
    return unused;
  }

  /**
   * Puts a grammar's rules among them.
   *
   * @param prefix What their names begin with.
   * @returns The name of its root.
   */
  include({ root, rules }: Grammar, prefix: string): string {
    let own = prefix;
    for (let i = 2; this.rules.has(own + root); i++) own = `${prefix} ${i}:`;
    const names = new Map<string, string>();
    const recursive = new Set<string>();
    for (const rule of inOrder(root, rules, recursive)) {
      const expression = renamed(rules.get(rule)!, (name) => names.get(name) ?? own + name);
      const key = JSON.stringify(expression);
      const known = recursive.has(rule) ? undefined : this.known.get(key);
      const name = known ?? own + rule;
      if (known !== undefined) this.shared.add(known);
      else this.rules.set(name, expression);
      if (!recursive.has(rule)) this.known.set(key, name);
      names.set(rule, name);
    }
    return names.get(root)!;
  }
}

/** Rules behind all that they name, but for those that lead back to themselves: `recursive` takes these. */
function* inOrder(
  root: string,
  rules: ReadonlyMap<string, Expression>,
  recursive: Set<string>,
): Generator<string> {
  const state = new Map<string, "open" | "done">([[root, "open"]]);
  const path = [{ name: root, left: rulesIn(rules.get(root)!) }];
  while (path.length > 0) {
    const { name, left } = path.at(-1)!;
    const next = left.pop();
    if (next === undefined) {
      path.pop();
      state.set(name, "done");
      yield name;
    } else if (state.get(next) === "open") {
      recursive.add(next);
    } else if (!state.has(next)) {
      state.set(next, "open");
      path.push({ name: next, left: rulesIn(rules.get(next)!) });
    }
  }
}

function renamed(expression: Expression, nameOf: (rule: string) => string): Expression {
  if (expression.kind === "rule") return { kind: "rule", name: nameOf(expression.name) };
  return withParts(expression, (part) => renamed(part, nameOf));
}
