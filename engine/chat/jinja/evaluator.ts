import { attribute, item, knownSlice, slice } from "./attributes.ts";
import { typeError, undefinedError } from "./errors.ts";
import { applyFilter } from "./filters.ts";
import { iterate } from "./iterate.ts";
import type { CallArguments, Expression } from "./nodes.ts";
import { signed } from "./numbers.ts";
import { COMPARISONS, hashOf, operate } from "./operators.ts";
import type { Rendering } from "./rendering.ts";
import type { Scope } from "./scope.ts";
import { passes } from "./tests.ts";
import {
  Args,
  Callable,
  Dict,
  isString,
  isTrue,
  NO_ARGS,
  textOf,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";
import { display } from "./write.ts";

/** Evaluates expressions. Every evaluation is counted, and what can make something large counts it before it does. */
export class Evaluator {
  /** Whether what is evaluated is made of constants. */
  protected known = false;

  constructor(protected readonly rendering: Rendering) {}

  evaluate(node: Expression, scope: Scope): Value {
    const { budget } = this.rendering;
    budget.enter();
    const value = this.evaluateNode(node, scope);
    budget.leave();
    return value;
  }

  private evaluateNode(node: Expression, scope: Scope): Value {
    const { rendering } = this;
    switch (node.kind) {
      case "constant":
        return node.value;
      case "name":
        return this.variable(node.name, scope);
      case "attribute":
        return attribute(rendering, this.evaluate(node.object, scope), node.name);
      case "item":
        return item(rendering, this.evaluate(node.object, scope), this.evaluate(node.key, scope));
      case "compare":
        return this.compare(node, scope);
      case "and": {
        const left = this.evaluate(node.left, scope);
        return isTrue(left) ? this.evaluate(node.right, scope) : left;
      }
      case "or": {
        const left = this.evaluate(node.left, scope);
        return isTrue(left) ? left : this.evaluate(node.right, scope);
      }
      case "not":
        return !isTrue(this.evaluate(node.operand, scope));
      case "binary": {
        const left = this.evaluate(node.left, scope);
        return operate(rendering, node.operator, left, this.evaluate(node.right, scope));
      }
      case "concat":
        return this.concat(node.parts, scope);
      case "filter": {
        const value = this.evaluate(node.operand!, scope);
        return applyFilter(rendering, node.name, value, this.args(node.args, scope));
      }
      case "test": {
        const value = this.evaluate(node.operand, scope);
        return passes(rendering, node.name, value, this.args(node.args, scope));
      }
      case "call":
        return this.call(this.evaluate(node.callee, scope), this.args(node.args, scope));
      case "condition":
        if (isTrue(this.evaluate(node.test, scope))) return this.evaluate(node.then, scope);
        return node.otherwise === undefined
          ? new Undefined("the condition is false and has no else")
          : this.evaluate(node.otherwise, scope);
      case "list":
        return rendering.list(node.items.map((one) => this.evaluate(one, scope)));
      case "tuple":
        return rendering.tuple(node.items.map((one) => this.evaluate(one, scope)));
      case "dict":
        return this.dict(node.entries, scope);
      case "slice": {
        const object = this.evaluate(node.object, scope);
        const bounds = node.bounds.map((one) =>
          one === undefined ? null : this.evaluate(one, scope)
        );
        return this.known
          ? knownSlice(rendering, object, bounds)
          : slice(rendering, object, bounds);
      }
    }
    const operand = this.evaluate(node.operand, scope);
    if (operand instanceof Undefined) throw undefinedError(operand);
    return signed(operand, node.kind === "negative");
  }

  private variable(name: string, scope: Scope): Value {
    this.rendering.budget.scan(scope.level);
    const value = scope.get(name);
    return value === undefined ? new Undefined(`"${name}" is not defined`) : value;
  }

  protected call(callee: Value, args: Args): Value {
    if (callee instanceof Callable) return callee.call(args);
    if (callee instanceof Undefined) throw undefinedError(callee);
    throw typeError(`a ${typeName(callee)} cannot be called`);
  }

  /** Chained as in Python: each with the next one, up to the first that does not hold. */
  private compare(node: Extract<Expression, { kind: "compare" }>, scope: Scope): Value {
    let left = this.evaluate(node.first, scope);
    for (const [operator, operand] of node.others) {
      const right = this.evaluate(operand, scope);
      if (!COMPARISONS[operator](this.rendering, left, right)) return false;
      left = right;
    }
    return true;
  }

  private concat(parts: readonly Expression[], scope: Scope): Value {
    const { rendering } = this;
    let text = "";
    for (const part of parts) {
      text += display(rendering, this.evaluate(part, scope));
      rendering.budget.grow(text.length, 0);
    }
    return rendering.string(text);
  }

  private dict(entries: readonly (readonly [Expression, Expression])[], scope: Scope): Value {
    this.rendering.budget.list(entries.length);
    const dict = new Dict();
    for (const [keyNode, valueNode] of entries) {
      const key = this.evaluate(keyNode, scope);
      dict.set(hashOf(this.rendering, key), key, this.evaluate(valueNode, scope));
    }
    return dict;
  }

  protected args(node: CallArguments, scope: Scope): Args {
    if (node.positional.length === 0 && node.named.length === 0 && !node.list && !node.mapping) {
      return NO_ARGS;
    }
    const positional = node.positional.map((one) => this.evaluate(one, scope));
    const named = new Map<string, Value>();
    for (const [name, value] of node.named) named.set(name, this.evaluate(value, scope));
    if (node.list !== undefined) {
      for (const one of iterate(this.rendering, this.evaluate(node.list, scope))) {
        positional.push(one);
        this.rendering.budget.element(positional.length);
      }
    }
    if (node.mapping !== undefined) {
      const given = this.evaluate(node.mapping, scope);
      if (!(given instanceof Dict)) throw typeError("a mapping is wanted after **");
      this.rendering.budget.list(given.size);
      for (const [key, value] of given.entries()) {
        if (!isString(key)) throw typeError("names are wanted as keys after **");
        if (named.has(textOf(key))) throw typeError(`the argument ${textOf(key)} is given twice`);
        named.set(textOf(key), value);
      }
    }
    return new Args(positional, named);
  }
}
