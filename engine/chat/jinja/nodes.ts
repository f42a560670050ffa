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
  | Name
  | FilterNode
  | Readonly<
    | { kind: "constant"; value: Value }
    | { kind: "list" | "tuple"; items: readonly Expression[] }
    | { kind: "dict"; entries: readonly (readonly [Expression, Expression])[] }
    | { kind: "condition"; test: Expression; then: Expression; otherwise?: Expression }
    | { kind: "and" | "or"; left: Expression; right: Expression }
    | { kind: "not" | "negative" | "positive"; operand: Expression }
    | { kind: "compare"; first: Expression; others: readonly (readonly [string, Expression])[] }
    | { kind: "binary"; operator: string; left: Expression; right: Expression }
    | { kind: "concat"; parts: readonly Expression[] }
    | { kind: "attribute"; object: Expression; name: string }
    | { kind: "item"; object: Expression; key: Expression }
    | { kind: "slice"; object: Expression; bounds: readonly (Expression | undefined)[] }
    | { kind: "call"; callee: Expression; args: CallArguments }
    | { kind: "test"; operand: Expression; name: string; args: CallArguments; line: number }
  >;

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
  | Readonly<
    | { kind: "member"; name: string; attribute: string }
    | { kind: "tuple"; items: readonly Target[] }
  >;

/** A macro, or the body of a call block. */
export interface MacroNode {
  readonly kind: "macro";
  /** Absent: the body of a call block. */
  readonly name?: string;
  readonly parameters: readonly string[];
  /** Defaults of the last parameters. */
  readonly defaults: readonly Expression[];
  readonly body: Statements;
  /** Whether the body asks for what only some macros are given. */
  readonly takes: { readonly caller: boolean; readonly kwargs: boolean; readonly varargs: boolean };
}

export interface ForNode {
  readonly kind: "for";
  readonly target: Target;
  readonly iterable: Expression;
  readonly test?: Expression;
  readonly recursive: boolean;
  readonly body: Statements;
  readonly otherwise: Statements;
  /** Whether its body asks for `loop`. */
  readonly namesLoop: boolean;
}

/** What stands in a template; the line, from 1 on, is where it begins. */
export type Statement = StatementNode & { readonly line?: number };
type Statements = readonly Statement[];

type StatementNode =
  | ForNode
  | MacroNode
  | Readonly<
    | { kind: "text"; text: string }
    // Of constants Jinja evaluates it when it compiles, and looks slices up as elements: it is `known`.
    | { kind: "output"; expression: Expression; known: boolean }
    | {
      kind: "if";
      branches: readonly (readonly [Expression, Statements])[];
      otherwise: Statements;
    }
    | { kind: "call_block"; call: Extract<Expression, { kind: "call" }>; body: MacroNode }
    | { kind: "filter_block"; filter: FilterNode; body: Statements }
    | { kind: "with"; targets: readonly Target[]; values: readonly Expression[]; body: Statements }
    | { kind: "block"; name: string; scoped: boolean; body: Statements }
    | { kind: "scope"; body: Statements }
    | { kind: "set"; target: Target; value: Expression }
    | { kind: "set_block"; target: Target; filter?: FilterNode; body: Statements }
    | { kind: "break" | "continue" }
  >;
