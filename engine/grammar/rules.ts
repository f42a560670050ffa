import { invalidGrammar, tooLarge } from "./errors.ts";
import { isProductive, partsOf, rulesIn, rulesWhere } from "./expressions.ts";
import type { CharacterClass, Expression, Grammar } from "./grammar.ts";
import { TOKEN_BYTES } from "./token_terminals.ts";

/** How deep expressions may be nested. */
export const MOST_NESTING = 250;
/** Parts that the expressions of a grammar may have, a character of a text being one. */
export const MOST_PARTS = 400_000;
/**
 * A rule without loops that is as long as that, or with loops or shared and as short as that, is put where it is named.
 */
export const SMALL = 200;
export const SMALL_APART = 12;
/** Rules named in rules named … deeper than that are none of those. */
export const SMALL_DEPTH = 12;
/** Parts that are looked at, some again and again, to find out what may be empty. */
const MOST_LOOKS = 10_000_000;
/** Nodes of a character that is none of ASCII, roughly. */
export const WIDE_CHARACTER = 10;

/**
 * The rules of a grammar, checked: all that are named are there, and none names itself before it has taken a
 * character.
 */
export class Rules {
  readonly expressions: Map<string, Expression> = new Map();
  /** Rules that the empty text matches. */
  readonly nullable: ReadonlySet<string>;
  /** Rules that any text matches. */
  readonly productive: ReadonlySet<string>;
  /** Rules that begin where a rule begins come after it. */
  readonly ranks: Map<string, number> = new Map();
  /** Rules that are built again wherever they are named. */
  readonly inlined: ReadonlySet<string>;
  private looks = 0;

  /** @throws {M40Error} "invalid_request" naming the rule that is missing or left-recursive, or what is too large. */
  constructor(readonly grammar: Grammar) {
    const { root } = grammar;
    this.collect(grammar);
    this.nullable = rulesWhere(this.expressions, (one, known) => this.isNullable(one, known));
    this.productive = rulesWhere(
      this.expressions,
      (one, known) => isProductive(one, known, () => this.countLook()),
    );
    if (!this.productive.has(root)) {
      throw invalidGrammar(
        `no text matches the rule "${root}": it never ends, or wants a character of a class that has ` +
          "none. Give it an alternative without recursion and without such a class.",
      );
    }
    this.rankAll();
    this.inlined = this.chooseInlined();
  }

  /** Whether the empty text matches, by the rules that it matches. */
  isNullable(expression: Expression, known: ReadonlySet<string> = this.nullable): boolean {
    this.countLook();
    const holds = (part: Expression) => this.isNullable(part, known);
    switch (expression.kind) {
      case "literal":
        return expression.text === "";
      case "characters":
      case "token":
        return false;
      case "until":
        return true;
      case "sequence":
        return expression.items.every(holds);
      case "choice":
        return expression.options.some(holds);
      case "repeat":
        return expression.least === 0 || holds(expression.item);
      case "rule":
        return known.has(expression.name);
    }
  }

  private countLook(): void {
    if (++this.looks > MOST_LOOKS) {
      throw tooLarge("its rules depend on too many others", MOST_LOOKS);
    }
  }

  /** All rules that the root leads to. */
  private collect({ root, rules }: Grammar): void {
    const left = [root];
    let parts = 0;
    for (let name = left.pop(); name !== undefined; name = left.pop()) {
      if (this.expressions.has(name)) continue;
      const expression = rules.get(name);
      if (expression === undefined) {
        throw invalidGrammar(
          name === root
            ? `there is no rule "${root}", with which the text begins`
            : `there is no rule "${name}", which another names`,
        );
      }
      parts += countParts(expression);
      if (parts > MOST_PARTS) throw tooLarge(`more than ${MOST_PARTS} parts`, MOST_PARTS);
      for (const named of rulesIn(expression)) left.push(named);
      this.expressions.set(name, expression);
    }
  }

  /** Ranks rules so that each comes before those that it may begin with. */
  private rankAll(): void {
    const state = new Map<string, "open" | "done">();
    let rank = this.expressions.size;
    for (const start of this.expressions.keys()) {
      if (state.has(start)) continue;
      state.set(start, "open");
      const path = [{ name: start, next: this.firstRules(start) }];
      while (path.length > 0) {
        const top = path.at(-1)!;
        const next = top.next.pop();
        if (next === undefined) {
          this.ranks.set(top.name, rank--);
          state.set(top.name, "done");
          path.pop();
        } else if (state.get(next) === "open") {
          throw invalidGrammar(
            `the rule "${next}" is left-recursive: it may begin with itself. Write what repeats as X* or X+, or ` +
              "put the recursion last.",
          );
        } else if (!state.has(next)) {
          state.set(next, "open");
          path.push({ name: next, next: this.firstRules(next) });
        }
      }
    }
  }

  /** The rules that a rule may begin with. */
  private firstRules(name: string): string[] {
    const found = new Set<string>();
    const look = (expression: Expression): void => {
      if (expression.kind === "rule") found.add(expression.name);
      if (expression.kind === "choice") expression.options.forEach(look);
      if (expression.kind === "repeat" && expression.most !== 0) look(expression.item);
      if (expression.kind !== "sequence") return;
      for (const item of expression.items) {
        look(item);
        if (!this.isNullable(item)) return;
      }
    };
    look(this.expressions.get(name)!);
    return [...found];
  }

  /** Rules that are small enough to be built again wherever they are named. */
  private chooseInlined(): ReadonlySet<string> {
    const inlined = new Set<string>();
    const sizes = new Map<string, { size: number; loops: boolean }>();
    const open = new Set<string>();
    const measure = (expression: Expression, depth: number): { size: number; loops: boolean } => {
      let size = nodesOf(expression);
      let { loops, times } = { loops: expression.kind === "until", times: 1 };
      if (expression.kind === "repeat") {
        loops = expression.most === undefined;
        times = Math.max(1, expression.most ?? expression.least);
      }
      const inside = expression.kind === "rule"
        ? [measureRule(expression.name, depth + 1)]
        : partsOf(expression).map((part) => measure(part, depth));
      for (const part of inside) {
        size += part.size * times;
        loops ||= part.loops;
      }
      return { size, loops };
    };
    const measureRule = (name: string, depth: number): { size: number; loops: boolean } => {
      const known = sizes.get(name);
      if (known !== undefined) return known;
      // What is recursive has no end, and what is nested so deep is not small either.
      if (open.has(name) || depth > SMALL_DEPTH) return { size: Infinity, loops: true };
      open.add(name);
      const whole = measure(this.expressions.get(name)!, depth);
      open.delete(name);
      sizes.set(name, whole);
      const isApart = whole.loops || this.grammar.shared?.has(name);
      if (whole.size <= (isApart ? SMALL_APART : SMALL)) inlined.add(name);
      return whole;
    };
    for (const name of this.expressions.keys()) measureRule(name, 0);
    inlined.delete(this.grammar.root);
    return inlined;
  }
}

/** The nodes that an expression takes by itself, roughly. */
function nodesOf(expression: Expression): number {
  switch (expression.kind) {
    case "literal":
      return 1 + expression.text.length;
    case "characters":
      return isWide(expression) ? WIDE_CHARACTER : 1;
    case "token":
      return TOKEN_BYTES;
    case "until":
      return sizeOf(expression.ends);
    default:
      return 1;
  }
}

/** Whether a class has characters of more than one byte. */
export function isWide({ ranges, negated }: CharacterClass): boolean {
  return negated || ranges.some(([, last]) => last > 0x7f);
}

/** What texts with such ends take, roughly: a state a byte. */
export function sizeOf(ends: readonly Uint8Array[]): number {
  return ends.reduce((sum, { length }) => sum + length, 1);
}

/** How many parts an expression has. */
function countParts(expression: Expression): number {
  let parts = 0;
  const look = (part: Expression, depth: number): void => {
    if (depth > MOST_NESTING) throw tooLarge(`nesting deeper than ${MOST_NESTING}`, MOST_NESTING);
    parts += part.kind === "literal" ? 1 + part.text.length : 1;
    if (part.kind === "until") parts += sizeOf(part.ends);
    if (parts > MOST_PARTS) throw tooLarge(`more than ${MOST_PARTS} parts`, MOST_PARTS);
    for (const inner of partsOf(part)) look(inner, depth + 1);
  };
  look(expression, 0);
  return parts;
}
