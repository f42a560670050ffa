import type { Value } from "./values.ts";

/** The variables of a part of a template; those around it can be seen. */
export class Scope {
  private readonly variables = new Map<string, Value>();

  constructor(private readonly parent?: Scope) {}

  get(name: string): Value | undefined {
    let value = this.variables.get(name);
    for (let scope = this.parent; value === undefined && scope !== undefined;) {
      value = scope.variables.get(name);
      scope = scope.parent;
    }
    return value;
  }

  set(name: string, value: Value): void {
    this.variables.set(name, value);
  }
}
