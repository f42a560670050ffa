/**
 * Random texts of a grammar.
 *
 * @module
 */
import type { CodePointRange, Expression, Grammar } from "../engine/grammar/grammar.ts";

/** Expressions inside each other from which on the shortest way out is taken. */
const DEPTH = 60;
/** Times that something is repeated without need, at most. */
const REPEATS = 4;

/** Draws texts that a grammar allows; `random` gives numbers from 0 to below 1. */
export class RandomTexts {
  /** Rules inside each other at least, by the name of the outermost. */
  private readonly heights = new Map<string, number>();

  constructor(private readonly grammar: Grammar, private readonly random: () => number) {
    for (let changed = true; changed;) {
      changed = false;
      for (const [name, expression] of grammar.rules) {
        const height = 1 + this.height(expression);
        if (height >= (this.heights.get(name) ?? Infinity)) continue;
        this.heights.set(name, height);
        changed = true;
      }
    }
  }

  draw(): string {
    const parts: string[] = [];
    // What is still to be written, the next last.
    const pending: { expression: Expression; depth: number }[] = [
      { expression: { kind: "rule", name: this.grammar.root }, depth: 0 },
    ];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const { expression, depth } = next;
      const later = (...items: Expression[]) =>
        pending.push(...items.reverse().map((item) => ({ expression: item, depth: depth + 1 })));
      const short = depth > DEPTH || pending.length > 400;
      switch (expression.kind) {
        case "literal":
          parts.push(expression.text);
          break;
        case "characters":
          parts.push(this.character(expression.ranges, expression.negated === true));
          break;
        case "sequence":
          later(...expression.items);
          break;
        case "rule":
          later(this.grammar.rules.get(expression.name)!);
          break;
        case "repeat": {
          const { item, least, most = Infinity } = expression;
          const more = short ? 0 : this.below(Math.min(most - least, REPEATS) + 1);
          later(...Array.from({ length: least + more }, () => item));
          break;
        }
        case "choice": {
          const lowest = Math.min(...expression.options.map((one) => this.height(one)));
          const options = short
            ? expression.options.filter((one) => this.height(one) === lowest)
            : expression.options;
          later(options[this.below(options.length)]);
        }
      }
    }
    return parts.join("");
  }

  private height(expression: Expression): number {
    switch (expression.kind) {
      case "literal":
      case "characters":
      case "token":
      case "until":
        return 0;
      case "sequence":
        return Math.max(0, ...expression.items.map((item) => this.height(item)));
      case "choice":
        return Math.min(...expression.options.map((option) => this.height(option)));
      case "repeat":
        return expression.least === 0 ? 0 : this.height(expression.item);
      case "rule":
        return this.heights.get(expression.name) ?? Infinity;
    }
  }

  /** One of the ranges, then one of its first, last or other characters. */
  private character(ranges: readonly CodePointRange[], negated: boolean): string {
    for (;;) {
      const [first, last] = negated ? [0, 0x10ffff] : ranges[this.below(ranges.length)];
      const code = this.below(4) === 0
        ? [first, last][this.below(2)]
        : first + this.below(Math.min(last - first + 1, this.below(8) === 0 ? Infinity : 128));
      const refused = negated && ranges.some(([a, b]) => a <= code && code <= b);
      if (!refused && (code < 0xd800 || code > 0xdfff)) return String.fromCodePoint(code);
    }
  }

  private below(count: number): number {
    return Math.floor(this.random() * count);
  }
}

/** Numbers from 0 to below 1 that follow from a seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
