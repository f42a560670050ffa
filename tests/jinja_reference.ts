/**
 * Jinja2 in a Python of its own, to compare with.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { type Outcome, outputOf } from "./python_output.ts";
import { JinjaTemplate } from "../engine/chat/jinja/template.ts";

/** When it is in the templates of both. */
export const NOW = new Date(2026, 2, 5, 14, 7, 9, 123);

/** A template with variables of its own. */
export interface Case {
  readonly template: string;
  readonly variables: Record<string, unknown>;
}

/**
 * What Jinja2 makes of templates, as `transformers` sets it up.
 *
 * @param python A Python with jinja2.
 * @param variables Of templates without variables of their own.
 */
export async function renderedByJinja(
  python: string,
  variables: unknown,
  cases: readonly (string | Case)[],
): Promise<Outcome[]> {
  const script = fromFileUrl(import.meta.resolve("./slow/jinja_reference.py"));
  return await outputOf(python, script, [variables, ...cases]);
}

/** What this engine makes of a template. */
export function renderedHere(template: string, variables: Record<string, unknown>): Outcome {
  try {
    return { text: new JinjaTemplate(template).render(variables, { now: NOW }) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** How two outcomes stand to one another; "differs" is a fault. */
export type Verdict = "equal" | "both fail" | "refused by name" | "an address" | "differs";

export function judge(here: Outcome, jinja: Outcome): Verdict {
  if (here.text !== undefined) {
    if (here.text === jinja.text) return "equal";
    // Python writes where an object lies in memory; nothing can be equal to that.
    return / at 0x[0-9a-f]+>/.test(jinja.text ?? "") ? "an address" : "differs";
  }
  if (jinja.text === undefined) return "both fail";
  // Jinja leaves out what it knows to be without effect before it looks at the names in it.
  return /not supported|there is no (filter|test) "/.test(here.error!)
    ? "refused by name"
    : "differs";
}
