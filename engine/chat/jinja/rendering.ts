import type { Budget } from "./budget.ts";
import type { Marks } from "./marks.ts";
import { type Args, Dict, isString, Markup, Range, textOf, Tuple, type Value } from "./values.ts";

/** Characters that going over an element of a list, or an entry of a mapping, counts as. */
export const ELEMENT = 8;

/** What goes along with one rendering: what it may still take, and how its texts are marked. */
export class Rendering {
  constructor(readonly budget: Budget, readonly marks: Marks, readonly now: Date) {}

  /**
   * Counts a filter, a test or a method, before it looks at what it is given.
   *
   * @param isCounted Whether its work is in proportion to that, or counts itself as it goes on.
   */
  builtin(isCounted: boolean, value: Value, { positional, named }: Args): void {
    const { budget } = this;
    budget.step();
    if (!budget.scans) return;
    if (!isCounted) budget.uncounted();
    budget.scan(sizeOf(value));
    for (const one of positional) budget.scan(sizeOf(one));
    for (const one of named.values()) budget.scan(sizeOf(one));
  }

  /** A new string, counted. Code that makes a long one asks {@link Budget.allow} before. */
  string(text: string): string {
    this.budget.string(text.length);
    return this.marks.tidy(text);
  }

  /** A new string of the same kind as another one: safe as HTML where that was. */
  like(other: string | Markup, text: string): string | Markup {
    const counted = this.string(text);
    return other instanceof Markup ? new Markup(counted) : counted;
  }

  /** A new list, counted. Code that makes a long one counts it before, by {@link Budget.list}. */
  list(items: Value[]): Value[] {
    this.budget.list(items.length);
    return items;
  }

  tuple(items: readonly Value[]): Tuple {
    this.budget.list(items.length);
    return new Tuple(items);
  }
}

/** Characters of a value; an element counts as several. What is inside of elements counts where it is looked at. */
function sizeOf(value: Value): number {
  if (isString(value)) return textOf(value).length;
  if (Array.isArray(value) || value instanceof Range) return ELEMENT * value.length;
  if (value instanceof Tuple) return ELEMENT * value.items.length;
  return value instanceof Dict ? ELEMENT * value.size : 0;
}
