import { invalidGrammar, tooLarge } from "./errors.ts";
import type { Expression, Grammar } from "./grammar.ts";
import { TOKEN_BYTES } from "./token_terminals.ts";
import { hasCharacter } from "./utf8_ranges.ts";

/** How deep expressions may be nested. */
export const MOST_NESTING = 250;
/** Parts that the expressions of a grammar may have, a character of a text being one. */
export const MOST_PARTS = 400_000;
/**
 * A rule without loops that is as long as that, or with loops or shared and as short as that, is put where it is named.
 */
const SMALL = 200;
const SMALL_APART = 12;
/** Rules named in rules named … deeper than that are none of those. */
const SMALL_DEPTH = 12;
/** Parts that are looked at, some again and again, to find out what may be empty. */
const MOST_LOOKS = 10_000_000;
/** Characters beyond ASCII take several nodes. */
const WIDE_CHARACTERS = 10;

/** What is known of a rule before it is built. */
interface Rule {
  readonly name: string;
  readonly expression: Expression;
  /** Whether the empty text matches. */
  nullable: boolean;
  /** Whether any text matches. */
  productive: boolean;
  /** Whether it is built again wherever it is named. */
  inlined: boolean;
  /** Rules that begin where it begins come after it. */
  rank: number;
}

/**
 * The rules of a grammar, checked: all that are named are there, and none names itself before it has taken a
 * character.
 */
export class Rules {
  private readonly rules = new Map<string, Rule>();
  /** Whether classes have any character: rules are looked at again and again. */
  private readonly inhabited = new Map<Expression, boolean>();
  private looks = 0;

  /** @throws {M40Error} "invalid_request" naming the rule that is missing or left-recursive, or what is too large. */
  constructor(readonly grammar: Grammar) {
    this.collect(grammar);
    this.mark((rule) => rule.nullable, (rule) => rule.nullable = true, (e) => this.isNullable(e));
    this.mark(
      (rule) => rule.productive,
      (rule) => rule.productive = true,
      (e) => this.isProductive(e),
    );
    if (!this.get(grammar.root).productive) {
      throw invalidGrammar(
        `no text matches the rule "${grammar.root}": it never ends, or wants a character of a class that has ` +
          "none. Give it an alternative without recursion and without such a class.",
      );
    }
    this.rankAll();
    this.chooseInlined();
  }

  get(name: string): Readonly<Rule> {
    return this.rules.get(name)!;
  }

  get names(): string[] {
    return [...this.rules.keys()];
  }

  /** Whether the empty text matches. */
  isNullable(expression: Expression): boolean {
    this.countLook();
    switch (expression.kind) {
      case "literal":
        return expression.text === "";
      case "characters":
      case "token":
        return false;
      case "until":
        return true;
      case "sequence":
        return expression.items.every((item) => this.isNullable(item));
      case "choice":
        return expression.options.some((option) => this.isNullable(option));
      case "repeat":
        return expression.least === 0 || this.isNullable(expression.item);
      case "rule":
        return this.get(expression.name).nullable;
    }
  }

  private isProductive(expression: Expression): boolean {
    this.countLook();
    switch (expression.kind) {
      case "literal":
      case "token":
      case "until":
        return true;
      case "characters": {
        const { ranges, negated } = expression;
        return this.inhabited.getOrInsertComputed(expression, () => hasCharacter(ranges, negated));
      }
      case "sequence":
        return expression.items.every((item) => this.isProductive(item));
      case "choice":
        return expression.options.some((option) => this.isProductive(option));
      case "repeat":
        return expression.least === 0 || this.isProductive(expression.item);
      case "rule":
        return this.get(expression.name).productive;
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
      if (this.rules.has(name)) continue;
      const expression = rules.get(name);
      if (expression === undefined) {
        throw invalidGrammar(
          name === root
            ? `there is no rule "${root}", with which the text begins`
            : `there is no rule "${name}", which another names`,
        );
      }
      parts += examine(expression, (named) => left.push(named));
      if (parts > MOST_PARTS) throw tooLarge(`more than ${MOST_PARTS} parts`, MOST_PARTS);
      const unknown = { nullable: false, productive: false, inlined: false, rank: 0 };
      this.rules.set(name, { name, expression, ...unknown });
    }
  }

  /** Marks rules until no more can be marked. */
  private mark(
    isMarked: (rule: Rule) => boolean,
    mark: (rule: Rule) => void,
    holds: (expression: Expression) => boolean,
  ): void {
    // Rules that name a rule are examined again when that is marked, so that long chains take no time.
    const users = new Map<string, Set<Rule>>();
    for (const rule of this.rules.values()) {
      examine(
        rule.expression,
        (named) => users.getOrInsertComputed(named, () => new Set()).add(rule),
      );
    }
    const left = [...this.rules.values()];
    for (let rule = left.pop(); rule !== undefined; rule = left.pop()) {
      if (isMarked(rule) || !holds(rule.expression)) continue;
      mark(rule);
      left.push(...users.get(rule.name) ?? []);
    }
  }

  /** Ranks rules so that each comes before those that it may begin with. */
  private rankAll(): void {
    const state = new Map<string, "open" | "done">();
    let rank = this.rules.size;
    for (const start of this.rules.keys()) {
      if (state.has(start)) continue;
      state.set(start, "open");
      const path = [{ name: start, next: this.firstRules(start) }];
      while (path.length > 0) {
        const top = path.at(-1)!;
        const next = top.next.pop();
        if (next === undefined) {
          this.rules.get(top.name)!.rank = rank--;
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
    look(this.get(name).expression);
    return [...found];
  }

  private chooseInlined(): void {
    const sizes = new Map<string, { size: number; loops: boolean }>();
    const open = new Set<string>();
    const measure = (expression: Expression, depth: number): { size: number; loops: boolean } => {
      const whole = { size: 1, loops: false };
      const add = (part: { size: number; loops: boolean }, times = 1) => {
        whole.size += part.size * times;
        whole.loops ||= part.loops;
      };
      switch (expression.kind) {
        case "literal":
          whole.size = 1 + expression.text.length;
          break;
        case "characters": {
          const wide = expression.negated || expression.ranges.some(([, last]) => last > 0x7f);
          whole.size = wide ? WIDE_CHARACTERS : 1;
          break;
        }
        case "token":
          whole.size = TOKEN_BYTES;
          break;
        case "until":
          whole.size = sizeOf(expression.ends);
          whole.loops = true;
          break;
        case "sequence":
          for (const item of expression.items) add(measure(item, depth));
          break;
        case "choice":
          for (const option of expression.options) add(measure(option, depth));
          break;
        case "repeat":
          add(measure(expression.item, depth), Math.max(1, expression.most ?? expression.least));
          whole.loops ||= expression.most === undefined;
          break;
        case "rule":
          add(measureRule(expression.name, depth + 1));
      }
      return whole;
    };
    const measureRule = (name: string, depth: number): { size: number; loops: boolean } => {
      const known = sizes.get(name);
      if (known !== undefined) return known;
      // What is recursive has no end, and what is nested so deep is not small either.
      if (open.has(name) || depth > SMALL_DEPTH) return { size: Infinity, loops: true };
      open.add(name);
      const size = measure(this.get(name).expression, depth);
      open.delete(name);
      sizes.set(name, size);
      const isApart = size.loops || this.grammar.shared?.has(name);
      this.rules.get(name)!.inlined = size.size <= (isApart ? SMALL_APART : SMALL);
      return size;
    };
    for (const name of this.rules.keys()) measureRule(name, 0);
    this.rules.get(this.grammar.root)!.inlined = false;
  }
}

/** What texts with such ends take, roughly: a state a byte. */
function sizeOf(ends: readonly Uint8Array[]): number {
  return ends.reduce((sum, { length }) => sum + length, 1);
}

/** Looks at every part of an expression once: how many there are, and which rules are named. */
function examine(expression: Expression, name: (rule: string) => void): number {
  let parts = 0;
  const look = (part: Expression, depth: number): void => {
    if (depth > MOST_NESTING) throw tooLarge(`nesting deeper than ${MOST_NESTING}`, MOST_NESTING);
    parts += part.kind === "literal" ? 1 + part.text.length : 1;
    if (part.kind === "until") parts += sizeOf(part.ends);
    if (parts > MOST_PARTS) throw tooLarge(`more than ${MOST_PARTS} parts`, MOST_PARTS);
    if (part.kind === "rule") name(part.name);
    if (part.kind === "sequence") { for (const item of part.items) look(item, depth + 1); }
    if (part.kind === "choice") { for (const option of part.options) look(option, depth + 1); }
    if (part.kind === "repeat") look(part.item, depth + 1);
  };
  look(expression, 0);
  return parts;
}
