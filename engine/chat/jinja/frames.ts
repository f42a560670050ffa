import type { MacroNode, Statement, Target } from "./nodes.ts";
import { visitNames } from "./undeclared.ts";

/** Names that are hidden in a scope, by the statements that the scope is of. */
export type HiddenNames = ReadonlyMap<readonly Statement[], readonly string[]>;

/**
 * The names that Jinja takes for variables of a scope from its start on, because they are set in it before they are
 * read. Until then the name is undefined, also where an outer scope has it.
 */
export function hiddenNames(program: readonly Statement[]): HiddenNames {
  const hidden = new Map<readonly Statement[], readonly string[]>();
  const analyse = (
    body: readonly Statement[],
    parent: Symbols | undefined,
    prepare: (symbols: Symbols) => void = () => {},
  ) => {
    const symbols = new Symbols(parent);
    prepare(symbols);
    visitAll(body, symbols);
    if (symbols.hidden.size > 0) hidden.set(body, [...symbols.hidden]);
    const inner = (statements: readonly Statement[]) => {
      for (const statement of statements) nested(statement, symbols, analyse, inner);
    };
    inner(body);
  };
  analyse(program, undefined);
  return hidden;
}

type Analyse = (
  body: readonly Statement[],
  parent: Symbols | undefined,
  prepare?: (symbols: Symbols) => void,
) => void;

/** Goes on with the scopes that stand in a statement. */
function nested(
  node: Statement,
  symbols: Symbols,
  analyse: Analyse,
  inner: (statements: readonly Statement[]) => void,
): void {
  const ofMacro = ({ parameters, defaults, body, takes }: MacroNode) =>
    analyse(body, symbols, (own) => {
      for (const name of parameters) own.refs.add(name);
      for (const [name, taken] of Object.entries(takes)) if (taken) own.refs.add(name);
      visitNames(defaults, (name) => own.load(name));
    });
  switch (node.kind) {
    case "for":
      analyse(node.body, symbols, (own) => {
        if (node.namesLoop) own.refs.add("loop");
        for (const name of namesOf(node.target)) own.refs.add(name);
      });
      return analyse(node.otherwise, symbols);
    case "if":
      for (const [, body] of node.branches) inner(body);
      return inner(node.otherwise);
    case "macro":
      return ofMacro(node);
    case "call_block":
      return ofMacro(node.body);
    case "with":
      return analyse(node.body, symbols, (own) => {
        for (const name of node.targets.flatMap(namesOf)) own.refs.add(name);
      });
    case "filter_block":
    case "set_block":
    case "scope":
      return analyse(node.body, symbols);
    case "block":
      return analyse(node.body, undefined);
  }
}

/** The names that are known in a scope. */
class Symbols {
  /** Names that were asked for or set. */
  refs = new Set<string>();
  stores = new Set<string>();
  hidden = new Set<string>();

  constructor(private readonly parent?: Symbols) {}

  knows(name: string): boolean {
    return this.refs.has(name) || this.parent?.knows(name) === true;
  }

  load(name: string): void {
    if (!this.knows(name)) this.refs.add(name);
  }

  store(name: string): void {
    this.stores.add(name);
    if (this.refs.has(name)) return;
    if (this.parent?.knows(name) !== true) this.hidden.add(name);
    this.refs.add(name);
  }

  private copy(): Symbols {
    const copy = new Symbols(this.parent);
    copy.refs = new Set(this.refs);
    copy.stores = new Set(this.stores);
    copy.hidden = new Set(this.hidden);
    return copy;
  }

  /** Goes over branches one of which is taken: what is not set in all of them is not hidden. */
  branch(branches: readonly ((symbols: Symbols) => void)[]): void {
    const counts = new Map<string, number>();
    const copies = branches.map((visit) => {
      const copy = this.copy();
      visit(copy);
      for (const name of copy.stores) {
        if (!this.stores.has(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
      }
      return copy;
    });
    for (const { refs, stores, hidden } of copies) {
      for (const name of refs) this.refs.add(name);
      for (const name of stores) this.stores.add(name);
      for (const name of hidden) this.hidden.add(name);
    }
    for (const [name, count] of counts) if (count < branches.length) this.hidden.delete(name);
  }
}

function visitAll(statements: readonly Statement[], symbols: Symbols): void {
  for (const statement of statements) visit(statement, symbols);
}

function visit(node: Statement, symbols: Symbols): void {
  const load = (value: unknown) => visitNames(value, (name) => symbols.load(name));
  switch (node.kind) {
    case "output":
      return load(node.expression);
    case "for":
      return load(node.iterable);
    case "if":
      return visitIf(node.branches, node.otherwise, symbols);
    case "macro":
      return symbols.store(node.name!);
    case "call_block":
      return load(node.call);
    case "filter_block":
      return load(node.filter);
    case "with":
      return load(node.values);
    case "set":
      load(node.value);
      return assign(node.target, symbols);
    case "set_block":
      return assign(node.target, symbols);
  }
}

function visitIf(
  [[test, body], ...others]: readonly (readonly [unknown, readonly Statement[]])[],
  otherwise: readonly Statement[],
  symbols: Symbols,
): void {
  visitNames(test, (name) => symbols.load(name));
  symbols.branch([
    (own) => visitAll(body, own),
    (own) => {
      for (const one of others) visitIf([one], [], own);
    },
    (own) => visitAll(otherwise, own),
  ]);
}

function assign(target: Target, symbols: Symbols): void {
  if (target.kind === "name") symbols.store(target.name);
  else if (target.kind === "member") symbols.load(target.name);
  else for (const item of target.items) assign(item, symbols);
}

function namesOf(target: Target): string[] {
  if (target.kind === "tuple") return target.items.flatMap(namesOf);
  return target.kind === "name" ? [target.name] : [];
}
