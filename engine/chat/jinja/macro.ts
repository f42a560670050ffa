import { typeError } from "./errors.ts";
import type { MacroNode } from "./nodes.ts";
import { type Args, Attributed, Dict, Tuple, Undefined, type Value } from "./values.ts";

/** A macro, or the body of a call block. */
export class Macro extends Attributed {
  readonly type = "Macro";

  /** @param render Its text, with the values of its variables; absent ones get their defaults. */
  constructor(
    readonly node: MacroNode,
    private readonly render: (values: ReadonlyMap<string, Value | undefined>) => Value,
  ) {
    super();
  }

  call({ positional, named }: Args): Value {
    const { parameters, takes } = this.node;
    const values = new Map<string, Value | undefined>();
    const rest = new Map(named);
    parameters.forEach((name, i) => {
      values.set(name, i < positional.length ? positional[i] : rest.get(name));
      if (i >= positional.length) rest.delete(name);
    });
    if (takes.caller) {
      values.set("caller", rest.get("caller") ?? new Undefined("there is no caller"));
      rest.delete("caller");
    }
    const [unknown] = rest.keys();
    if (takes.kwargs) values.set("kwargs", Dict.of(rest));
    else if (unknown !== undefined) {
      throw typeError(`the macro ${this.title} takes no argument "${unknown}"`);
    }
    if (takes.varargs) values.set("varargs", new Tuple(positional.slice(parameters.length)));
    else if (positional.length > parameters.length) {
      throw typeError(`the macro ${this.title} takes at most ${parameters.length} arguments`);
    }
    return this.render(values);
  }

  private get title(): string {
    return this.node.name ?? "of a call block";
  }

  attribute(name: string): Value | undefined {
    const { parameters, takes } = this.node;
    const attributes: Readonly<Record<string, Value>> = {
      name: this.node.name ?? null,
      arguments: new Tuple(parameters),
      catch_kwargs: takes.kwargs,
      catch_varargs: takes.varargs,
      caller: takes.caller,
      explicit_caller: parameters.includes("caller"),
    };
    return Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  }

  override text(): string {
    return this.node.name === undefined ? "<Macro anonymous>" : `<Macro '${this.node.name}'>`;
  }
}
