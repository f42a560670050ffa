import type { Expression, MacroNode, Statement, Target } from "./nodes.ts";

/**
 * Which of some names statements ask for without having set them before, as Jinja finds out what a loop or a macro has to
 * be given. Names in blocks do not count.
 */
export function undeclared(
  statements: readonly Statement[],
  names: readonly string[],
): ReadonlySet<string> {
  const open = new Set(names);
  const found = new Set<string>();
  const load = (name: string) => {
    if (open.has(name)) found.add(name);
  };
  visit(statements, load, (name) => open.delete(name));
  return found;
}

type Seen = (name: string) => void;
type Node = Statement | Expression | Target | MacroNode;

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  for: ["iterable", "target", "test", "body", "otherwise"],
  macro: ["defaults", "body"],
};

/** Goes over the names that are asked for and set, in the order in which they stand. */
function visit(value: unknown, load: Seen, store: Seen): void {
  if (typeof value !== "object" || value === null) return;
  // Lists, and the arguments of a call.
  if (Array.isArray(value) || "positional" in value) {
    return Object.values(value).forEach((item) => visit(item, load, store));
  }
  if (!("kind" in value)) return;
  const node = value as Node;
  switch (node.kind) {
    case "name":
      return load(node.name);
    case "block":
    case "constant":
      return;
    case "macro":
      if (node.name !== undefined) store(node.name);
      for (const name of node.parameters) store(name);
      break;
    case "for":
    case "set":
    case "set_block":
      setTarget(node.target, store);
      break;
    case "with":
      for (const target of node.targets) setTarget(target, store);
      break;
  }
  for (const field of FIELDS[node.kind] ?? Object.keys(node)) {
    if (field === "target" || field === "targets") continue;
    visit((node as unknown as Record<string, unknown>)[field], load, store);
  }
}

function setTarget(target: Target, store: Seen): void {
  if (target.kind === "name") store(target.name);
  else if (target.kind === "tuple") { for (const item of target.items) setTarget(item, store); }
}

/** The names that an expression asks for, in their order. */
export function visitNames(expression: unknown, load: (name: string) => void): void {
  visit(expression, load, () => {});
}

/** Every name that statements ask for anywhere, with those that they set taken away. */
export function freeNames(statements: readonly Statement[]): ReadonlySet<string> {
  const loaded = new Set<string>();
  const stored = new Set<string>();
  const visitAll = (body: readonly Statement[]) => {
    visit(body, (name) => loaded.add(name), (name) => stored.add(name));
    for (const statement of body) if (statement.kind === "block") visitAll(statement.body);
  };
  visitAll(statements);
  for (const name of stored) loaded.delete(name);
  return loaded;
}
