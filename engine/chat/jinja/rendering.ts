import type { Budget } from "./budget.ts";
import {
  type ListValue,
  newList,
  newString,
  newTuple,
  type StringValue,
  type Value,
} from "./library.ts";
import type { Marks } from "./marks.ts";

/** What goes along with one rendering: what it may still take, and how its texts are marked. */
export class Rendering {
  constructor(readonly budget: Budget, readonly marks: Marks, readonly now: Date) {}

  /** A new string, counted. Whoever makes one that may be long asks {@link Budget.allow} before. */
  string(text: string): StringValue {
    this.budget.string(text.length);
    return newString(this.marks.tidy(text));
  }

  /** Strings, counted together. */
  strings(texts: readonly string[]): ListValue {
    return this.list(texts.map((text) => this.string(text)));
  }

  /** A new list, counted. Whoever makes a long one counts it before, by {@link Budget.list}. */
  list(items: Value[]): ListValue {
    this.budget.list(items.length);
    return newList(items);
  }

  tuple(items: Value[]): ListValue {
    this.budget.list(items.length);
    return newTuple(items);
  }
}
