import { bind } from "./arguments.ts";
import { TemplateError, typeError } from "./errors.ts";
import { type Args, Attributed, Func, type Value } from "./values.ts";

/** What `cycler(…)` gives: one of its values after the other, from the start again at the end. */
export class Cycler extends Attributed {
  readonly type = "Cycler";
  private place = 0;

  constructor(private readonly items: readonly Value[]) {
    super();
    if (items.length === 0) throw new TemplateError("other", "cycler wants a value");
  }

  attribute(name: string): Value | undefined {
    if (name === "current") return this.items[this.place];
    if (name === "pos") return this.place;
    if (name === "next") {
      return new Func(name, () => {
        const value = this.items[this.place];
        this.place = (this.place + 1) % this.items.length;
        return value;
      });
    }
    if (name === "reset") {
      return new Func(name, () => {
        this.place = 0;
        return null;
      });
    }
  }

  call(): Value {
    throw typeError("a cycler cannot be called; it has next()");
  }
}

/** What `joiner(…)` gives: nothing the first time it is called, then its text. */
export class Joiner extends Attributed {
  readonly type = "Joiner";
  private used = false;
  private readonly separator: Value;

  constructor(args: Args) {
    super();
    const [separator = ", "] = bind("joiner", args, ["sep"]);
    this.separator = separator;
  }

  attribute(name: string): Value | undefined {
    if (name === "sep") return this.separator;
    if (name === "used") return this.used;
  }

  call(args: Args): Value {
    bind("a joiner", args, []);
    if (this.used) return this.separator;
    this.used = true;
    return "";
  }
}
