import type { Budget } from "./budget.ts";
import type { Marks } from "./marks.ts";
import { Markup, Tuple, type Value } from "./values.ts";

/** What goes along with one rendering: what it may still take, and how its texts are marked. */
export class Rendering {
  constructor(readonly budget: Budget, readonly marks: Marks, readonly now: Date) {}

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
