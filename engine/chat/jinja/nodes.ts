import type { Value } from "./values.ts";

export interface CallArguments {
  readonly positional: readonly Expression[];
  readonly named: readonly (readonly [string, Expression])[];
  /** What stands behind `*` and `**`. */
  readonly list?: Expression;
  readonly mapping?: Expression;
}

export type Name = { readonly kind: "name"; readonly name: string };

export type Expression =
  | { readonly kind: "constant"; readonly value: Value }
  | Name
  | { readonly kind: "list" | "tuple"; readonly items: readonly Expression[] }
  | { readonly kind: "dict"; readonly entries: readonly (readonly [Expression, Expression])[] }
  | {
    readonly kind: "condition";
    readonly test: Expression;
    readonly then: Expression;
    readonly otherwise?: Expression;
  }
  | { readonly kind: "and" | "or"; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "not" | "negative" | "positive"; readonly operand: Expression }
  | {
    readonly kind: "compare";
    readonly first: Expression;
    readonly others: readonly (readonly [operator: string, Expression])[];
  }
  | {
    readonly kind: "binary";
    readonly operator: string;
    readonly left: Expression;
    readonly right: Expression;
  }
  | { readonly kind: "concat"; readonly parts: readonly Expression[] }
  | { readonly kind: "attribute"; readonly object: Expression; readonly name: string }
  | { readonly kind: "item"; readonly object: Expression; readonly key: Expression }
  | {
    readonly kind: "slice";
    readonly object: Expression;
    readonly bounds: readonly (Expression | undefined)[];
  }
  | { readonly kind: "call"; readonly callee: Expression; readonly args: CallArguments }
  | FilterNode
  | {
    readonly kind: "test";
    readonly operand: Expression;
    readonly name: string;
    readonly args: CallArguments;
    readonly line: number;
  };

/** A filter; without an operand it takes the text of a block. */
export interface FilterNode {
  readonly kind: "filter";
  readonly operand?: Expression;
  readonly name: string;
  readonly args: CallArguments;
  readonly line: number;
}

/** What is assigned to: a name, an attribute of a namespace, or several of them. */
export type Target =
  | Name
  | { readonly kind: "member"; readonly name: string; readonly attribute: string }
  | { readonly kind: "tuple"; readonly items: readonly Target[] };

/** A macro, or the body of a call block. */
export interface MacroNode {
  readonly kind: "macro";
  /** Absent: the body of a call block. */
  readonly name?: string;
  readonly parameters: readonly string[];
  /** Defaults of the last parameters. */
  readonly defaults: readonly Expression[];
  readonly body: readonly Statement[];
  /** Whether the body asks for what only some macros are given. */
  readonly takes: { readonly caller: boolean; readonly kwargs: boolean; readonly varargs: boolean };
}

export interface ForNode {
  readonly kind: "for";
  readonly target: Target;
  readonly iterable: Expression;
  readonly test?: Expression;
  readonly recursive: boolean;
  readonly body: readonly Statement[];
  readonly otherwise: readonly Statement[];
  /** Whether its body asks for `loop`. */
  readonly namesLoop: boolean;
}

/** What stands in a template; the line, from 1 on, is where it begins. */
export type Statement = StatementNode & { readonly line?: number };

type StatementNode =
  | { readonly kind: "text"; readonly text: string }
  | {
    readonly kind: "output";
    readonly expression: Expression;
    /** Whether it is made of constants: then Jinja evaluates it when it compiles, and looks slices up as elements. */
    readonly known: boolean;
  }
  | ForNode
  | {
    readonly kind: "if";
    readonly branches: readonly (readonly [Expression, readonly Statement[]])[];
    readonly otherwise: readonly Statement[];
  }
  | MacroNode
  | {
    readonly kind: "call_block";
    readonly call: Extract<Expression, { kind: "call" }>;
    readonly body: MacroNode;
  }
  | {
    readonly kind: "filter_block";
    readonly filter: FilterNode;
    readonly body: readonly Statement[];
  }
  | {
    readonly kind: "with";
    readonly targets: readonly Target[];
    readonly values: readonly Expression[];
    readonly body: readonly Statement[];
  }
  | {
    readonly kind: "block";
    readonly name: string;
    readonly scoped: boolean;
    readonly body: readonly Statement[];
  }
  | { readonly kind: "scope"; readonly body: readonly Statement[] }
  | { readonly kind: "set"; readonly target: Target; readonly value: Expression }
  | {
    readonly kind: "set_block";
    readonly target: Target;
    readonly filter?: FilterNode;
    readonly body: readonly Statement[];
  }
  | { readonly kind: "break" | "continue" };
