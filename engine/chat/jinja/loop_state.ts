import {
  newBoolean,
  newFunction,
  newInteger,
  newMapping,
  UNDEFINED,
  type Value,
} from "./library.ts";
import type { Rendering } from "./rendering.ts";
import { display } from "./write.ts";

/** What `loop` tells of a loop. */
export class LoopState {
  private changed?: string;

  constructor(private readonly rendering: Rendering, private readonly items: readonly Value[]) {}

  at(i: number): Value {
    const { items } = this;
    const numbers = {
      index: i + 1,
      index0: i,
      revindex: items.length - i,
      revindex0: items.length - i - 1,
      length: items.length,
      depth: 1,
      depth0: 0,
    };
    const entries = new Map<string, Value>(
      Object.entries(numbers).map(([name, value]) => [name, newInteger(value)]),
    );
    entries.set("first", newBoolean(i === 0));
    entries.set("last", newBoolean(i === items.length - 1));
    entries.set("previtem", items[i - 1] ?? UNDEFINED);
    entries.set("nextitem", items[i + 1] ?? UNDEFINED);
    entries.set(
      "cycle",
      newFunction(({ positional }) => positional[i % positional.length] ?? UNDEFINED),
    );
    entries.set(
      "changed",
      newFunction(({ positional }) => {
        const now = display(this.rendering, this.rendering.list([...positional]));
        const differs = now !== this.changed;
        this.changed = now;
        return newBoolean(differs);
      }),
    );
    return newMapping(entries);
  }
}
