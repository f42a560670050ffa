import type { Value } from "./values.ts";

/** Stands for a variable that is not set yet, and hides one of its name around it. */
const HIDDEN = Symbol("hidden");

/** The variables of a part of a template; those around it can be seen. */
export class Scope {
  private readonly variables = new Map<string, Value | typeof HIDDEN>();
  /** How many are around it. */
  readonly level: number;

  /** @param hidden Names that are not looked for around it. */
  constructor(private readonly parent?: Scope, hidden: readonly string[] = []) {
    this.level = parent === undefined ? 0 : parent.level + 1;
    for (const name of hidden) this.variables.set(name, HIDDEN);
  }

  get(name: string): Value | undefined {
    let value = this.variables.get(name);
    for (let scope = this.parent; value === undefined && scope !== undefined;) {
      value = scope.variables.get(name);
      scope = scope.parent;
    }
    return value === HIDDEN ? undefined : value;
  }

  set(name: string, value: Value): void {
    this.variables.set(name, value);
  }
}
