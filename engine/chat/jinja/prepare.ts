import type { Node } from "./library.ts";

/** The fields of nodes that hold statements. */
const BODIES = ["body", "alternate", "defaultBlock"];

/**
 * Makes the statements of each body one node, `Block`, so that it is this interpreter that puts their
 * texts together, and notes which loops need their `loop`.
 */
export function prepare(program: Node): Node {
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (value instanceof Map) return new Map([...value].map(([k, v]) => [visit(k), visit(v)]));
    if (typeof value !== "object" || value === null || !("type" in value)) return value;
    // The package looks for what macros name in what is an instance of its nodes.
    const create = (fields: object) =>
      Object.assign(Object.create(Object.getPrototypeOf(program)), fields);
    const node: Record<string, unknown> = create({});
    for (const [field, inner] of Object.entries(value)) {
      const seen = visit(inner);
      const isBody = BODIES.includes(field) && Array.isArray(seen) && seen.length > 0;
      node[field] = isBody ? [create({ type: "Block", statements: seen })] : seen;
    }
    if (node.type === "For") node.namesLoop = namesLoop(node);
    return node;
  };
  return visit(program) as Node;
}

function namesLoop(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesLoop);
  if (value instanceof Map) return [...value].some(namesLoop);
  if (typeof value !== "object" || value === null) return false;
  const { type, value: name, namesLoop: known } = value as Record<string, unknown>;
  // A loop within the value was looked through before.
  if (typeof known === "boolean") return known;
  if (type === "Identifier" && name === "loop") return true;
  return Object.values(value).some(namesLoop);
}
