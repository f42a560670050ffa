import { globals, mappingMethod, newScope } from "./globals.ts";
import { applyFilter } from "./filters.ts";
import { fromJavaScript } from "./from_javascript.ts";
import {
  Arguments,
  type Environment,
  Interpreter,
  isFunction,
  isInteger,
  isList,
  isMapping,
  isNamespace,
  isNone,
  isString,
  isTrue,
  isTuple,
  isUndefined,
  type Key,
  mapOf,
  newBoolean,
  newFunction,
  newInteger,
  newMapping,
  newTuple,
  type Node,
  UNDEFINED,
  type Value,
} from "./library.ts";
import { iterate } from "./list_filters.ts";
import { keyOf, operate } from "./operators.ts";
import { LoopState } from "./loop_state.ts";
import type { Rendering } from "./rendering.ts";
import { bounds, sliced } from "./slices.ts";
import { stringMethod } from "./string_methods.ts";
import { passes } from "./tests.ts";
import { display } from "./write.ts";

type Statement = Parameters<Interpreter["evaluate"]>[0];

/** What `break` and `continue` throw: the text of the iteration so far goes along. */
class LoopControl {
  text = "";
  constructor(readonly ends: boolean) {}
}

/** Statements that leave nothing in the text. */
const SILENT = new Set(["Set", "Macro", "Comment"]);

/**
 * The interpreter of `@huggingface/jinja`, bounded, and equal to Jinja where the package is not. Every
 * evaluation is counted, and what can make something large counts it before it does. What was evaluated
 * here and is left to the package goes on as a node of the type `Value`.
 */
export class BoundedInterpreter extends Interpreter {
  private readonly globals: Map<string, Value>;

  constructor(private readonly rendering: Rendering) {
    super(newScope());
    this.globals = globals(rendering);
    for (const [name, value] of this.globals) this.global.variables.set(name, value);
  }

  /** The text of a prepared template. Names and values of `variables` are those of JSON. */
  render(program: Node, variables: Readonly<Record<string, unknown>>): string {
    for (const [name, value] of Object.entries(variables)) {
      this.global.variables.set(name, fromJavaScript(this.rendering, value));
    }
    return (this.evaluate(program as unknown as Statement, this.global).value as string) ?? "";
  }

  override evaluate(statement: Statement, scope: Environment): Value {
    const node = statement as Node | undefined;
    if (node === undefined) return UNDEFINED;
    if (node.type === "Value") return node.value;
    const { budget } = this.rendering;
    budget.enter();
    try {
      return this.evaluateNode(node, scope);
    } finally {
      budget.leave();
    }
  }

  private evaluateNode(node: Node, scope: Environment): Value {
    switch (node.type) {
      case "Program":
        return this.block(node.body[0]?.statements ?? [], scope);
      case "Block":
        return this.block(node.statements, scope);
      case "For":
        return this.loop(node, scope);
      case "Break":
      case "Continue":
        throw new LoopControl(node.type === "Break");
      case "Set":
        return this.set(node, scope);
      case "FilterStatement":
        return this.filter(node.filter, this.block(node.body, scope), scope);
      case "Identifier":
        return this.variable(node.value, scope);
      case "ObjectLiteral":
        return this.mapping(node, scope);
      case "MemberExpression":
        return this.member(node, scope);
      case "BinaryExpression":
        return this.binary(node, scope);
      case "FilterExpression":
        return this.filter(node.filter, this.inner(node.operand, scope), scope);
      case "TestExpression": {
        const holds = passes(this.rendering, node.test.value, this.inner(node.operand, scope));
        return newBoolean(holds !== node.negate);
      }
      default:
        return super.evaluate(node as unknown as Statement, scope);
    }
  }

  private inner(node: Node, scope: Environment): Value {
    return this.evaluate(node as unknown as Statement, scope);
  }

  /** The texts that statements leave, one after the other. */
  private block(statements: readonly Node[], scope: Environment): Value {
    let text = "";
    try {
      for (const statement of statements) {
        const value = this.inner(statement, scope);
        if (!SILENT.has(statement.type)) text += this.written(value);
        this.rendering.budget.grow(text.length, 0);
      }
    } catch (error) {
      if (error instanceof LoopControl) error.text = text + error.text;
      throw error;
    }
    return this.rendering.string(text);
  }

  private written(value: Value): string {
    return isString(value) ? value.value : display(this.rendering, value);
  }

  /** A name is looked for from the innermost scope outwards. */
  private variable(name: string, scope: Environment): Value {
    for (let one: Environment | undefined = scope; one !== undefined; one = one.parent) {
      const value = one.variables.get(name);
      // Every scope that the package makes begins with a namespace function of its own.
      const isOwn = name === "namespace" && isFunction(value) && one !== this.global;
      if (value === undefined || isOwn) continue;
      return name === "varargs" && isList(value) ? newTuple(value.value) : value;
    }
    return UNDEFINED;
  }

  private set(node: Node, scope: Environment): Value {
    const value = node.value
      ? this.inner(node.value, scope)
      : this.block(node.body, newScope(scope));
    return super.evaluate(
      { ...node, value: { type: "Value", value } } as unknown as Statement,
      scope,
    );
  }

  private binary(node: Node, scope: Environment): Value {
    const operator: string = node.operator.value;
    const left = this.inner(node.left, scope);
    if (operator === "and") return isTrue(left) ? this.inner(node.right, scope) : left;
    if (operator === "or") return isTrue(left) ? left : this.inner(node.right, scope);
    return operate(this.rendering, operator, left, this.inner(node.right, scope));
  }

  private filter(filter: Node, value: Value, scope: Environment): Value {
    const name: string = filter.type === "CallExpression" ? filter.callee.value : filter.value;
    const args = filter.type === "CallExpression"
      ? this.arguments(filter.args, scope)
      : new Arguments([]);
    if (typeof name !== "string") throw new Error("a filter's name is wanted after |");
    // Tests with arguments, see `parse.ts`.
    const [kind, test] = name.split(":");
    if (test === undefined) return applyFilter(this.rendering, name, value, args);
    return newBoolean(
      passes(this.rendering, test, value, args.positional[0]) === (kind === "is"),
    );
  }

  private arguments(nodes: readonly Node[], scope: Environment): Arguments {
    const positional: Value[] = [];
    const named = new Map<string, Value>();
    for (const node of nodes) {
      if (node.type === "KeywordArgumentExpression") {
        named.set(node.key.value, this.inner(node.value, scope));
      } else if (node.type === "SpreadExpression") {
        const items = iterate(this.rendering, this.inner(node.argument, scope));
        this.rendering.budget.list(items.length);
        for (const item of items) positional.push(item);
      } else if (node.type === "KeywordSpreadExpression") {
        const given = this.inner(node.argument, scope);
        if (!isMapping(given)) throw new Error("a mapping is wanted after **");
        for (const [key, value] of mapOf(given)) named.set(String(key), value);
      } else {
        positional.push(this.inner(node, scope));
      }
    }
    return new Arguments(positional, named);
  }

  private mapping(node: Node, scope: Environment): Value {
    const entries = new Map<Key, Value>();
    for (const [key, value] of node.value as Map<Node, Node>) {
      entries.set(keyOf(this.rendering, this.inner(key, scope)), this.inner(value, scope));
    }
    return newMapping(entries);
  }

  /** `a.b`, `a["b"]`, `a[0]`, `a[1:]`; undefined where there is no such part. */
  private member(node: Node, scope: Environment): Value {
    const object = this.inner(node.object, scope);
    if (node.computed && node.property.type === "SliceExpression") {
      return this.slice(object, node.property, scope);
    }
    const property = node.computed
      ? this.inner(node.property, scope)
      : node.property.type === "IntegerLiteral"
      ? newInteger(node.property.value)
      : undefined;
    if (isUndefined(object)) {
      const what = typeof node.object.value === "string" ? `"${node.object.value}"` : "a value";
      throw new Error(`${what} is not defined, so it has no parts`);
    }
    if (isMapping(object) && property !== undefined && !isString(property)) {
      return mapOf(object).get(keyOf(this.rendering, property)) ?? UNDEFINED;
    }
    if (isInteger(property)) return this.element(object, property.value);
    if (property !== undefined && !isString(property)) return UNDEFINED;
    const name = property === undefined
      ? String(node.property.value)
      : this.rendering.marks.plain(property.value);
    return this.part(object, name, property === undefined);
  }

  private element(object: Value, place: number): Value {
    if (isList(object)) return object.value.at(place) ?? UNDEFINED;
    if (!isString(object)) return UNDEFINED;
    const { marks } = this.rendering;
    const from = place < 0 ? place + marks.length(object.value) : place;
    const character = from < 0 ? "" : marks.slice(object.value, from, from + 1);
    return character === "" ? UNDEFINED : this.rendering.string(character);
  }

  /** As in Jinja, `a.b` looks for a method first and `a["b"]` for an entry. */
  private part(object: Value, name: string, methodsFirst: boolean): Value {
    if (isNamespace(object)) return mapOf(object).get(name) ?? UNDEFINED;
    if (isMapping(object)) {
      const entry = mapOf(object).get(name);
      if (entry !== undefined && !methodsFirst) return entry;
      return mappingMethod(this.rendering, object, name) ?? entry ?? UNDEFINED;
    }
    if (!isString(object)) return UNDEFINED;
    const method = stringMethod(this.rendering, object, name);
    return method === undefined ? UNDEFINED : newFunction(method);
  }

  private slice(object: Value, node: Node, scope: Environment): Value {
    const { rendering } = this;
    const [start, stop, step = 1] = [node.start, node.stop, node.step].map((bound) => {
      const value = bound ? this.inner(bound, scope) : UNDEFINED;
      if (isUndefined(value) || isNone(value)) return undefined;
      if (isInteger(value)) return value.value as number;
      throw new Error("a slice wants whole numbers");
    });
    if (step === 0) throw new Error("the step of a slice must not be 0");
    if (isList(object)) {
      rendering.budget.list(object.value.length);
      const items = sliced(object.value, start, stop, step);
      return isTuple(object) ? rendering.tuple(items) : rendering.list(items);
    }
    if (!isString(object)) return UNDEFINED;
    const { marks } = rendering;
    if (step === 1) {
      const [from, to] = bounds(marks.length(object.value), start, stop);
      return rendering.string(marks.slice(object.value, from, to));
    }
    rendering.budget.list(object.value.length);
    return rendering.string(sliced(marks.characters(object.value), start, stop, step).join(""));
  }

  /** `for`: each iteration has a scope of its own; what it sets is gone with it. */
  private loop(node: Node, scope: Environment): Value {
    const { rendering } = this;
    const selects = node.iterable.type === "SelectExpression";
    const iterable = this.inner(selects ? node.iterable.lhs : node.iterable, scope);
    let items = iterate(rendering, iterable);
    if (selects) {
      items = items.filter((item) => {
        const inner = newScope(scope);
        this.bind(node.loopvar, item, inner);
        return isTrue(this.inner(node.iterable.test, inner));
      });
      rendering.budget.list(items.length);
    }
    if (items.length === 0) return this.block(node.defaultBlock, newScope(scope));
    let text = "";
    const state = new LoopState(rendering, items);
    for (let i = 0; i < items.length; i++) {
      rendering.budget.step();
      const inner = newScope(scope);
      this.bind(node.loopvar, items[i], inner);
      if (node.namesLoop) inner.variables.set("loop", state.at(i));
      try {
        text += this.written(this.block(node.body, inner));
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        text += error.text;
        if (error.ends) break;
      }
      rendering.budget.grow(text.length, 0);
    }
    return rendering.string(text);
  }

  private bind(target: Node, value: Value, scope: Environment): void {
    if (target.type === "Identifier") {
      scope.variables.set(target.value, value);
      return;
    }
    const parts = iterate(this.rendering, value);
    if (parts.length !== target.value.length) {
      throw new Error(`${target.value.length} values are wanted, got ${parts.length}`);
    }
    target.value.forEach((name: Node, i: number) => this.bind(name, parts[i], scope));
  }
}
