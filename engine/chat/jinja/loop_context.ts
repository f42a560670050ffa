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

  [Symbol.iterator](): this {
    return this;
  }

  next(): IteratorResult<Value, undefined> {
    const value = this.peek();
    if (value === undefined) return { done: true, value };
    this.after = undefined;
    this.index++;
    this.before = this.current;
    this.current = value;
    return { done: false, value };
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

  private static readonly ATTRIBUTES: ReadonlyMap<string, (loop: LoopContext) => Value> = new Map([
    ["index", (loop) => loop.index + 1],
    ["index0", (loop) => loop.index],
    ["revindex", (loop) => loop.length - loop.index],
    ["revindex0", (loop) => loop.length - loop.index - 1],
    ["length", (loop) => loop.length],
    ["depth", (loop) => loop.depth + 1],
    ["depth0", (loop) => loop.depth],
    ["first", (loop) => loop.index === 0],
    ["last", (loop) => loop.peek() === undefined],
    ["previtem", (loop) => loop.index === 0 ? none("previous") : loop.before!],
    ["nextitem", (loop) => loop.peek() === undefined ? none("next") : loop.after!],
    ["cycle", (loop) => new Func("cycle", (args) => loop.cycle(args))],
    ["changed", (loop) => new Func("changed", (args) => loop.hasChanged(args))],
  ] as [string, (loop: LoopContext) => Value][]);

  attribute(name: string): Value | undefined {
    return LoopContext.ATTRIBUTES.get(name)?.(this);
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
