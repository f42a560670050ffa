import type { Expression, MacroNode, Statement, Target } from "./nodes.ts";
import { visitNames } from "./undeclared.ts";

/** Names that are hidden in a scope, by the statements that the scope is of. */
export type HiddenNames = ReadonlyMap<readonly Statement[], readonly string[]>;

/**
 * The names that Jinja takes for variables of a scope from its start on, because they are set in it before they are
 * read. Until then the name is undefined, also where an outer scope has it.
 */
export function hiddenNames(program: readonly Statement[]): HiddenNames {
  const hidden = new Map<readonly Statement[], readonly string[]>();
  analyse(program, hidden);
  return hidden;
}

/**
 * Finds the hidden names of a scope and of those in it.
 *
 * @param known Names that it has from its start on.
 * @param defaults What is evaluated in it first.
 */
function analyse(
  body: readonly Statement[],
  hidden: Map<readonly Statement[], readonly string[]>,
  parent?: Symbols,
  known: readonly string[] = [],
  defaults: readonly Expression[] = [],
): void {
  const symbols = new Symbols(parent, known);
  visitNames(defaults, (name) => symbols.load(name));
  visitAll(body, symbols);
  if (symbols.hidden.size > 0) hidden.set(body, [...symbols.hidden]);
  const scope = (statements: readonly Statement[], known?: readonly string[]) =>
    analyse(statements, hidden, symbols, known);
  const macro = ({ parameters, defaults, body, takes }: MacroNode) => {
    const taken = Object.entries(takes).flatMap(([name, isTaken]) => isTaken ? [name] : []);
    analyse(body, hidden, symbols, [...parameters, ...taken], defaults);
  };
  const nested = (node: Statement): void => {
    switch (node.kind) {
      case "for":
        scope(node.body, [...node.namesLoop ? ["loop"] : [], ...namesOf(node.target)]);
        return scope(node.otherwise);
      case "if":
        for (const [, statements] of node.branches) statements.forEach(nested);
        return node.otherwise.forEach(nested);
      case "macro":
        return macro(node);
      case "call_block":
        return macro(node.body);
      case "with":
        return scope(node.body, node.targets.flatMap(namesOf));
      case "filter_block":
      case "set_block":
      case "scope":
        return scope(node.body);
      case "block":
        return analyse(node.body, hidden);
    }
  };
  body.forEach(nested);
}

class Symbols {
  /** Names that were asked for or set. */
  refs: Set<string>;
  stores = new Set<string>();
  hidden = new Set<string>();

  constructor(private readonly parent?: Symbols, known: Iterable<string> = []) {
    this.refs = new Set(known);
  }

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
    const copy = new Symbols(this.parent, this.refs);
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
