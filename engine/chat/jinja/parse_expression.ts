import type { CallArguments, Expression, FilterNode, Target } from "./nodes.ts";
import { describe, type TokenStream } from "./token_stream.ts";
import type { Value } from "./values.ts";

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];
const CONSTANTS: Readonly<Record<string, Value>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
};
const NO_ARGUMENTS: CallArguments = { positional: [], named: [] };

/** Reads expressions, in Jinja's order of precedence. */
export class ExpressionParser {
  constructor(protected readonly stream: TokenStream) {}

  expression(withCondition = true): Expression {
    return this.stream.inside(() => withCondition ? this.condition() : this.or());
  }

  private condition(): Expression {
    let then = this.or();
    while (this.stream.skipName("if")) {
      const test = this.or();
      const otherwise = this.stream.skipName("else")
        ? this.stream.inside(() => this.condition())
        : undefined;
      then = { kind: "condition", test, then, otherwise };
    }
    return then;
  }

  private or(): Expression {
    let left = this.and();
    while (this.stream.skipName("or")) left = { kind: "or", left, right: this.and() };
    return left;
  }

  private and(): Expression {
    let left = this.not();
    while (this.stream.skipName("and")) left = { kind: "and", left, right: this.not() };
    return left;
  }

  private not(): Expression {
    if (!this.stream.skipName("not")) return this.compare();
    return { kind: "not", operand: this.stream.inside(() => this.not()) };
  }

  private compare(): Expression {
    const { stream } = this;
    const first = this.sum();
    const others: [string, Expression][] = [];
    for (;;) {
      if (stream.isOperator(...COMPARISONS)) others.push([stream.next().text, this.sum()]);
      else if (stream.skipName("in")) others.push(["in", this.sum()]);
      else if (stream.isName("not") && stream.ahead.type === "name" && stream.ahead.text === "in") {
        stream.next();
        stream.next();
        others.push(["not in", this.sum()]);
      } else return others.length === 0 ? first : { kind: "compare", first, others };
    }
  }

  private binary(operators: readonly string[], operand: () => Expression): Expression {
    let left = operand();
    while (this.stream.isOperator(...operators)) {
      left = { kind: "binary", operator: this.stream.next().text, left, right: operand() };
    }
    return left;
  }

  private sum(): Expression {
    return this.binary(["+", "-"], () => this.concat());
  }

  private concat(): Expression {
    const parts = [this.product()];
    while (this.stream.skipOperator("~")) parts.push(this.product());
    return parts.length === 1 ? parts[0] : { kind: "concat", parts };
  }

  private product(): Expression {
    return this.binary(["*", "/", "//", "%"], () => this.binary(["**"], () => this.unary()));
  }

  private unary(withFilters = true): Expression {
    const { stream } = this;
    let node: Expression;
    if (stream.skipOperator("-")) {
      node = { kind: "negative", operand: stream.inside(() => this.unary(false)) };
    } else if (stream.skipOperator("+")) {
      node = { kind: "positive", operand: stream.inside(() => this.unary(false)) };
    } else node = this.primary();
    node = this.postfix(node);
    return withFilters ? this.filters(node) : node;
  }

  private primary(): Expression {
    const { stream } = this;
    const token = stream.current;
    if (token.type === "name") {
      stream.next();
      if (Object.hasOwn(CONSTANTS, token.text)) {
        return { kind: "constant", value: CONSTANTS[token.text] };
      }
      return { kind: "name", name: token.text };
    }
    if (token.type === "string") {
      let value = "";
      while (stream.current.type === "string") value += stream.next().value;
      return { kind: "constant", value };
    }
    if (token.type === "number") return { kind: "constant", value: stream.next().value! };
    if (stream.skipOperator("(")) {
      const inner = stream.inside(() => this.tuple({ parentheses: true }));
      stream.expectOperator(")");
      return inner;
    }
    if (stream.skipOperator("[")) {
      return { kind: "list", items: this.separated("]", () => this.expression()) };
    }
    if (stream.skipOperator("{")) {
      const entries = this.separated("}", (): [Expression, Expression] => {
        const key = this.expression();
        stream.expectOperator(":");
        return [key, this.expression()];
      });
      return { kind: "dict", entries };
    }
    return stream.fail(`unexpected ${describe(token)}`);
  }

  /** What stands between commas, up to a closing bracket; a comma may be last. */
  private separated<T>(end: string, parse: () => T): T[] {
    const items: T[] = [];
    while (!this.stream.isOperator(end)) {
      if (items.length > 0) this.stream.expectOperator(",");
      if (this.stream.isOperator(end)) break;
      items.push(parse());
    }
    this.stream.next();
    return items;
  }

  /** An expression, or several with commas between them. */
  tuple(
    { parentheses = false, withCondition = true, endName = "" }: {
      parentheses?: boolean;
      withCondition?: boolean;
      endName?: string;
    } = {},
  ): Expression {
    const { stream } = this;
    const [items, isTuple] = this.items(endName, () => this.expression(withCondition));
    if (!isTuple) {
      if (items.length > 0) return items[0];
      if (!parentheses) stream.fail(`got ${describe(stream.current)}, wanted an expression`);
    }
    return { kind: "tuple", items };
  }

  /** What stands between commas up to an end, and whether it is a tuple: whether there is a comma. */
  private items<T>(endName: string, parse: () => T): [items: T[], isTuple: boolean] {
    const { stream } = this;
    const items: T[] = [];
    let isTuple = false;
    for (;;) {
      if (items.length > 0) stream.expectOperator(",");
      if (this.isTupleEnd(endName)) break;
      items.push(parse());
      if (!stream.isOperator(",")) break;
      isTuple = true;
    }
    return [items, isTuple];
  }

  private isTupleEnd(endName: string): boolean {
    const { stream } = this;
    return stream.current.type === "variable_end" || stream.current.type === "block_end" ||
      stream.isOperator(")") || (endName !== "" && stream.isName(endName));
  }

  /**
   * What is assigned to.
   *
   * @param endName A name that ends it.
   */
  target(endName = "", withMembers = false): Target {
    const { stream } = this;
    const [items, isTuple] = this.items(endName, () => this.oneTarget(withMembers));
    if (!isTuple && items.length > 0) return items[0];
    if (items.length === 0) stream.fail(`got ${describe(stream.current)}, wanted a name`);
    return { kind: "tuple", items };
  }

  private oneTarget(withMembers: boolean): Target {
    const { stream } = this;
    if (stream.skipOperator("(")) {
      const inner = stream.inside(() => this.target("", withMembers));
      stream.expectOperator(")");
      return inner;
    }
    const { text: name } = stream.expectName();
    if (withMembers && stream.skipOperator(".")) {
      return { kind: "member", name, attribute: stream.expectName().text };
    }
    if (Object.hasOwn(CONSTANTS, name)) stream.fail(`${name} cannot be assigned to`);
    return { kind: "name", name };
  }

  private postfix(start: Expression): Expression {
    const { stream } = this;
    let node = start;
    for (;;) {
      if (stream.skipOperator(".")) {
        const token = stream.next();
        if (token.type === "name") node = { kind: "attribute", object: node, name: token.text };
        else if (token.type === "number" && typeof token.value !== "object") {
          node = { kind: "item", object: node, key: { kind: "constant", value: token.value! } };
        } else stream.fail(`got ${describe(token)}, wanted a name or a whole number`);
      } else if (stream.skipOperator("[")) node = this.subscript(node);
      else if (stream.isOperator("(")) node = { kind: "call", callee: node, args: this.args() };
      else return node;
    }
  }

  private subscript(object: Expression): Expression {
    const { stream } = this;
    const keys: Expression[] = [];
    let bounds: (Expression | undefined)[] | undefined;
    while (!stream.isOperator("]")) {
      if (keys.length > 0 || bounds !== undefined) stream.expectOperator(",");
      if (bounds !== undefined) stream.fail("a slice stands alone between brackets");
      const start = stream.isOperator(":") ? undefined : this.expression();
      if (!stream.isOperator(":")) keys.push(start!);
      else if (keys.length > 0) stream.fail("a slice stands alone between brackets");
      else bounds = this.bounds(start);
    }
    stream.next();
    if (bounds !== undefined) return { kind: "slice", object, bounds };
    const key: Expression = keys.length === 1 ? keys[0] : { kind: "tuple", items: keys };
    return { kind: "item", object, key };
  }

  /** The rest of `start:stop:step`. */
  private bounds(start: Expression | undefined): (Expression | undefined)[] {
    const { stream } = this;
    stream.expectOperator(":");
    const isEnd = () => stream.isOperator("]", ",");
    const stop = stream.isOperator(":") || isEnd() ? undefined : this.expression();
    const step = stream.skipOperator(":") && !isEnd() ? this.expression() : undefined;
    return [start, stop, step];
  }

  private args(): CallArguments {
    const { stream } = this;
    const positional: Expression[] = [];
    const named: [string, Expression][] = [];
    let list: Expression | undefined;
    let mapping: Expression | undefined;
    const ensure = (holds: boolean) => {
      if (!holds) stream.fail("arguments stand in the order: values, names, *list, **mapping");
    };
    stream.expectOperator("(");
    for (let isFirst = true; !stream.isOperator(")"); isFirst = false) {
      if (!isFirst) stream.expectOperator(",");
      if (stream.isOperator(")")) break;
      if (stream.skipOperator("*")) {
        ensure(list === undefined && mapping === undefined);
        list = this.expression();
      } else if (stream.skipOperator("**")) {
        ensure(mapping === undefined);
        mapping = this.expression();
      } else if (
        stream.current.type === "name" && stream.ahead.type === "operator" &&
        stream.ahead.text === "="
      ) {
        ensure(mapping === undefined);
        const { text } = stream.next();
        stream.next();
        if (named.some(([name]) => name === text)) stream.fail(`the argument ${text} stands twice`);
        named.push([text, this.expression()]);
      } else {
        ensure(list === undefined && mapping === undefined && named.length === 0);
        positional.push(this.expression());
      }
    }
    stream.next();
    return { positional, named, list, mapping };
  }

  private filters(start: Expression): Expression {
    const { stream } = this;
    let node = start;
    for (;;) {
      if (stream.isOperator("|")) node = this.filter(node)!;
      else if (stream.isName("is")) node = this.test(node);
      else if (stream.isOperator("(")) node = { kind: "call", callee: node, args: this.args() };
      else return node;
    }
  }

  /** Filters of a value, or of a block's text where there is no value. */
  filter(operand: Expression | undefined, startsInline = false): FilterNode | undefined {
    const { stream } = this;
    let node = operand;
    for (let inline = startsInline; inline || stream.isOperator("|"); inline = false) {
      if (!inline) stream.next();
      const { line } = stream.current;
      const name = this.dotted();
      const args = stream.isOperator("(") ? this.args() : NO_ARGUMENTS;
      node = { kind: "filter", operand: node, name, args, line };
    }
    return node as FilterNode | undefined;
  }

  private dotted(): string {
    let name = this.stream.expectName().text;
    while (this.stream.skipOperator(".")) name += "." + this.stream.expectName().text;
    return name;
  }

  private test(operand: Expression): Expression {
    const { stream } = this;
    const { line } = stream.next();
    const negated = stream.skipName("not");
    const name = this.dotted();
    const node: Expression = { kind: "test", operand, name, args: this.testArguments(), line };
    return negated ? { kind: "not", operand: node } : node;
  }

  private testArguments(): CallArguments {
    const { stream } = this;
    if (stream.isOperator("(")) return this.args();
    const { type } = stream.current;
    const begins = type === "name" || type === "string" || type === "number" ||
      stream.isOperator("[", "{");
    if (!begins || stream.isName("else", "or", "and")) return NO_ARGUMENTS;
    if (stream.isName("is")) stream.fail("tests cannot be chained with is");
    const argument = stream.inside(() => this.postfix(this.primary()));
    return { positional: [argument], named: [] };
  }
}

const OF_CONTEXT = ["map", "random", "reject", "rejectattr", "select", "selectattr"];

/** Whether an expression is made of constants alone, so that Jinja evaluates it when it compiles. */
export function isKnown(node: Expression): boolean {
  switch (node.kind) {
    case "constant":
      return true;
    case "name":
    case "attribute":
    case "call":
      return false;
    case "filter":
    case "test":
      // Jinja evaluates none that ask for the context.
      if (OF_CONTEXT.includes(node.name) || node.operand === undefined) return false;
      if (node.args.list || node.args.mapping) return false;
      break;
    case "condition":
      if (node.otherwise === undefined) return false;
  }
  return expressionsIn(Object.values(node)).every(isKnown);
}

/** The outermost expressions among values. */
function expressionsIn(values: readonly unknown[]): Expression[] {
  return values.flatMap((value) => {
    if (typeof value !== "object" || value === null) return [];
    return "kind" in value ? [value as Expression] : expressionsIn(Object.values(value));
  });
}
