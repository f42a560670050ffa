import { typeError } from "./errors.ts";
import { iterate, lengthOf, listOf } from "./iterate.ts";
import { areEqual } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import { type Args, Attributed, Func, Once, Undefined, type Value } from "./values.ts";

/** Renders a recursive loop once more, a level deeper. */
export type Recurse = (items: Value, depth: number) => Value;

/** What `loop` says about a loop. It looks no further ahead than it is asked to. */
export class LoopContext extends Attributed {
  readonly type = "LoopContext";
  private index = -1;
  private iterator: Iterator<Value>;
  private known?: number;
  private after: Value | undefined;
  private current: Value | undefined;
  private before: Value | undefined;
  private changed?: readonly Value[];

  constructor(
    private readonly rendering: Rendering,
    private readonly items: Value,
    private readonly depth = 0,
    private readonly recurse?: Recurse,
  ) {
    super();
    this.iterator = iterate(rendering, items)[Symbol.iterator]();
  }

  /** The next element; undefined at the end. */
  next(): Value | undefined {
    const next = this.peek();
    if (next === undefined) return undefined;
    this.after = undefined;
    this.index++;
    this.before = this.current;
    return this.current = next;
  }

  private peek(): Value | undefined {
    if (this.after !== undefined) return this.after;
    const { done, value } = this.iterator.next();
    return this.after = done ? undefined : value;
  }

  get length(): number {
    if (this.known !== undefined) return this.known;
    if (!(this.items instanceof Once)) return this.known = lengthOf(this.rendering, this.items);
    const rest = listOf(this.rendering, new Once(this.iterator));
    this.iterator = rest[Symbol.iterator]();
    const ahead = this.after === undefined ? 0 : 1;
    return this.known = rest.length + this.index + 1 + ahead;
  }

  attribute(name: string): Value | undefined {
    switch (name) {
      case "index":
        return this.index + 1;
      case "index0":
        return this.index;
      case "revindex":
        return this.length - this.index;
      case "revindex0":
        return this.length - this.index - 1;
      case "length":
        return this.length;
      case "depth":
        return this.depth + 1;
      case "depth0":
        return this.depth;
      case "first":
        return this.index === 0;
      case "last":
        return this.peek() === undefined;
      case "previtem":
        return this.index === 0 ? none("previous") : this.before;
      case "nextitem":
        return this.peek() === undefined ? none("next") : this.after;
      case "cycle":
        return new Func(name, (args) => this.cycle(args));
      case "changed":
        return new Func(name, (args) => this.hasChanged(args));
    }
  }

  private cycle({ positional }: Args): Value {
    if (positional.length === 0) throw typeError("loop.cycle wants values");
    return positional[this.index % positional.length];
  }

  private hasChanged({ positional }: Args): boolean {
    const { changed } = this;
    this.changed = positional;
    return changed === undefined || changed.length !== positional.length ||
      changed.some((one, i) => !areEqual(this.rendering, one, positional[i]));
  }

  call({ positional, named }: Args): Value {
    if (this.recurse === undefined) {
      throw typeError("a loop is called within itself only where it is recursive");
    }
    if (positional.length !== 1 || named.size > 0) throw typeError("loop wants one list");
    return this.recurse(positional[0], this.depth + 1);
  }

  override text(): string {
    return `<LoopContext ${this.index + 1}/${this.length}>`;
  }
}

function none(which: string): Undefined {
  return new Undefined(`there is no ${which} item`);
}
