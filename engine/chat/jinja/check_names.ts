import { filterProblem } from "./filters.ts";
import { UNSUPPORTED_FILTERS } from "./filter_names.ts";
import { TemplateSyntaxError } from "./syntax_error.ts";
import { isTest } from "./tests.ts";

/** Statements whose bodies have frames of their own, in which unknown filters are refused. */
const FRAMES = [
  "for",
  "macro",
  "call_block",
  "filter_block",
  "with",
  "block",
  "scope",
  "set_block",
];

/**
 * Refuses a template with filters or tests that there are none of. As in Jinja, those in a condition are refused when
 * they are used; those that Jinja knows and this does not are refused at once.
 *
 * @throws {TemplateSyntaxError}
 */
export function checkNames(node: unknown, inCondition = false): void {
  if (Array.isArray(node)) return node.forEach((one) => checkNames(one, inCondition));
  if (typeof node !== "object" || node === null) return;
  const { kind, name, line } = node as { kind?: string; name?: string; line?: number };
  if (kind === "constant" || kind === "text") return;
  if (kind === "filter" && (!inCondition || UNSUPPORTED_FILTERS.has(name!))) {
    const problem = filterProblem(name!);
    if (problem !== undefined) throw new TemplateSyntaxError(problem, line!);
  }
  if (kind === "test" && !inCondition && !isTest(name!)) {
    throw new TemplateSyntaxError(`there is no test "${name!.slice(0, 80)}"`, line!);
  }
  const inner = kind === "if" || kind === "condition" || (inCondition && !FRAMES.includes(kind!));
  for (const value of Object.values(node)) {
    if (typeof value === "object") checkNames(value, inner);
  }
}
