import { TemplateError, typeError, valueError } from "./errors.ts";
import { Evaluator } from "./evaluator.ts";
import { applyFilter } from "./filters.ts";
import { fromJavaScript } from "./from_javascript.ts";
import { globals } from "./globals.ts";
import { iterate } from "./iterate.ts";
import { LoopContext } from "./loop_context.ts";
import { Macro } from "./macro.ts";
import type { Expression, FilterNode, ForNode, MacroNode, Statement, Target } from "./nodes.ts";
import type { Program } from "./parse.ts";
import { ELEMENT, type Rendering } from "./rendering.ts";
import { Scope } from "./scope.ts";
import {
  Args,
  isString,
  isTrue,
  Namespace,
  Once,
  textOf,
  typeName,
  Undefined,
  type Value,
} from "./values.ts";
import { display } from "./write.ts";

/** How statements end: at their end, or at one that ends or goes on with the loop around them. */
type End = undefined | "break" | "continue";

/** The text that statements leave, counted as it grows. */
class Output {
  text = "";
  constructor(private readonly rendering: Rendering) {}

  write(text: string): undefined {
    if (text === "") return;
    this.text += text;
    this.rendering.budget.grow(this.text.length, text.length);
  }
}

/** What a call or filter block leaves, which Jinja does not make a text of. */
function joined(value: Value): string {
  if (isString(value)) return textOf(value);
  throw typeError(`a block wants a string, got ${typeName(value)}`);
}

/** Renders a template as Jinja does, within a budget. */
export class Interpreter extends Evaluator {
  /** What the template itself has set: blocks see it. */
  private exported = new Scope();
  private root = new Scope();

  constructor(rendering: Rendering, private readonly program: Program) {
    super(rendering);
  }

  /** The template's text. Names and values of `variables` are those of JSON. */
  render(variables: Readonly<Record<string, unknown>>): string {
    const context = new Scope();
    for (const [name, value] of globals(this.rendering)) context.set(name, value);
    for (const [name, value] of Object.entries(variables)) {
      context.set(name, fromJavaScript(this.rendering, value));
    }
    this.exported = new Scope(context);
    this.root = this.scopeOf(this.program.statements, this.exported);
    return this.textOf(this.program.statements, this.root);
  }

  private scopeOf(statements: readonly Statement[], parent: Scope): Scope {
    const hidden = this.program.hidden.get(statements);
    if (hidden !== undefined) this.rendering.budget.scan(ELEMENT * hidden.length);
    return new Scope(parent, hidden);
  }

  private set(scope: Scope, name: string, value: Value): undefined {
    scope.set(name, value);
    if (scope === this.root) this.exported.set(name, value);
  }

  private textOf(statements: readonly Statement[], scope: Scope): string {
    const output = new Output(this.rendering);
    this.runAll(statements, scope, output);
    return this.rendering.marks.tidy(output.text);
  }

  private runAll(statements: readonly Statement[], scope: Scope, output: Output): End {
    for (const statement of statements) {
      const end = this.run(statement, scope, output);
      if (end !== undefined) return end;
    }
  }

  private run(statement: Statement, scope: Scope, output: Output): End {
    const { budget } = this.rendering;
    budget.enter();
    try {
      const end = this.runStatement(statement, scope, output);
      budget.leave();
      return end;
    } catch (error) {
      // The innermost statement is where it failed.
      if (error instanceof TemplateError) error.line ??= statement.line;
      throw error;
    }
  }

  private runStatement(node: Statement, scope: Scope, output: Output): End {
    switch (node.kind) {
      case "text":
        return output.write(node.text);
      case "output":
        this.known = node.known;
        output.write(display(this.rendering, this.evaluate(node.expression, scope)));
        this.known = false;
        return;
      case "if":
        for (const [test, body] of node.branches) {
          if (isTrue(this.evaluate(test, scope))) return this.runAll(body, scope, output);
        }
        return this.runAll(node.otherwise, scope, output);
      case "for":
        return this.loop(node, scope, output);
      case "set":
        return this.assign(node.target, this.evaluate(node.value, scope), scope);
      case "set_block":
        return this.block(node, scope, (value) => this.assign(node.target, value, scope));
      case "macro":
        return this.set(scope, node.name!, this.macro(node, scope));
      case "call_block": {
        const args = this.args(node.call.args, scope);
        const callee = this.evaluate(node.call.callee, scope);
        if (args.named.has("caller")) throw typeError("the argument caller is given twice");
        const named = new Map(args.named).set("caller", this.macro(node.body, scope));
        return output.write(joined(this.call(callee, new Args(args.positional, named))));
      }
      case "filter_block":
        return this.block(node, scope, (value) => output.write(joined(value)));
      case "with": {
        const inner = this.scopeOf(node.body, scope);
        const values = node.values.map((one) => this.evaluate(one, scope));
        node.targets.forEach((target, i) => this.assign(target, values[i], inner));
        return this.runAll(node.body, inner, output);
      }
      case "scope":
        return output.write(this.textOf(node.body, this.scopeOf(node.body, scope)));
      case "block": {
        const inner = this.scopeOf(node.body, node.scoped ? scope : this.exported);
        return output.write(this.textOf(node.body, inner));
      }
    }
    return node.kind;
  }

  /** Takes the text of a block, filtered, where nothing in it ends the loop around it. */
  private block(
    { body, filter }: Extract<Statement, { kind: "set_block" | "filter_block" }>,
    scope: Scope,
    take: (value: Value) => void,
  ): End {
    const inner = this.scopeOf(body, scope);
    const text = new Output(this.rendering);
    const end = this.runAll(body, inner, text);
    if (end === undefined) take(this.filtered(filter, this.rendering.marks.tidy(text.text), inner));
    return end;
  }

  private filtered(node: FilterNode | undefined, value: Value, scope: Scope): Value {
    if (node === undefined) return value;
    const inner = this.filtered(node.operand as FilterNode | undefined, value, scope);
    return applyFilter(this.rendering, node.name, inner, this.args(node.args, scope));
  }

  private macro(node: MacroNode, scope: Scope): Macro {
    return new Macro(node, (values) => {
      this.rendering.budget.scan(ELEMENT * values.size);
      const inner = this.scopeOf(node.body, scope);
      for (const [name, value] of values) {
        const missing = () => new Undefined(`the parameter "${name}" was not given`);
        inner.set(name, value === undefined ? missing() : value);
      }
      const first = node.parameters.length - node.defaults.length;
      node.defaults.forEach((one, i) => {
        const name = node.parameters[first + i];
        if (values.get(name) === undefined) inner.set(name, this.evaluate(one, inner));
      });
      return this.rendering.budget.inside(() => this.textOf(node.body, inner));
    });
  }

  private assign(target: Target, value: Value, scope: Scope): undefined {
    if (target.kind === "name") return this.set(scope, target.name, value);
    if (target.kind === "member") {
      const namespace = scope.get(target.name);
      if (!(namespace instanceof Namespace)) {
        const message = `"${target.name}" is no namespace, so nothing is set in it`;
        throw new TemplateError("other", message);
      }
      namespace.attributes.set(target.attribute, target.attribute, value);
      return;
    }
    const parts: Value[] = [];
    for (const part of iterate(this.rendering, value)) {
      if (parts.push(part) > target.items.length) break;
    }
    if (parts.length !== target.items.length) {
      throw valueError(`${target.items.length} values are wanted, got ${parts.length}`);
    }
    target.items.forEach((one, i) => this.assign(one, parts[i], scope));
  }

  private loop(node: ForNode, scope: Scope, output: Output): End {
    const items = this.evaluate(node.iterable, scope);
    if (!node.recursive) return this.iterations(node, items, scope, output, undefined);
    output.write(this.recursive(node, items, scope, 0));
  }

  /** The text of a recursive loop, which may call itself through its `loop`. */
  private recursive(node: ForNode, items: Value, scope: Scope, depth: number): string {
    const output = new Output(this.rendering);
    this.rendering.budget.inside(() => this.iterations(node, items, scope, output, depth));
    return this.rendering.string(output.text);
  }

  /** Each iteration has a scope of its own; what it sets is gone with it. */
  private iterations(
    node: ForNode,
    items: Value,
    scope: Scope,
    output: Output,
    depth: number | undefined,
  ): End {
    const { budget } = this.rendering;
    const chosen = node.test === undefined ? items : this.chosen(node, node.test, items, scope);
    let isEmpty = true;
    const recurse = depth === undefined
      ? undefined
      : (inner: Value, level: number) => this.recursive(node, inner, scope, level);
    const context = node.namesLoop
      ? new LoopContext(this.rendering, chosen, depth, recurse)
      : undefined;
    for (const one of context ?? iterate(this.rendering, chosen)) {
      budget.step();
      const inner = this.scopeOf(node.body, scope);
      if (context !== undefined) inner.set("loop", context);
      this.assign(node.target, one, inner);
      const end = this.runAll(node.body, inner, output);
      if (end === "break") break;
      // As in Jinja, an iteration that was cut short does not count.
      if (end !== "continue") isEmpty = false;
    }
    if (isEmpty) return this.runAll(node.otherwise, this.scopeOf(node.otherwise, scope), output);
  }

  /** The elements that a loop's own condition lets through, as it comes to them. */
  private chosen(node: ForNode, test: Expression, items: Value, scope: Scope): Once {
    const choose = function* (this: Interpreter): Generator<Value> {
      for (const one of iterate(this.rendering, items)) {
        this.rendering.budget.step();
        const inner = new Scope(scope);
        this.assign(node.target, one, inner);
        if (isTrue(this.evaluate(test, inner))) yield one;
      }
    };
    return new Once(choose.call(this));
  }
}
