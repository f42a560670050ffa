/**
 * Random templates, rendered here and by Jinja2. `M40_JINJA_TEMPLATES` says how many, `M40_JINJA_SEED` which.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { judge, renderedByJinja, renderedHere, type Verdict } from "../fixtures/jinja_reference.ts";
import { TemplateMaker, VARIABLES } from "../fixtures/jinja_templates.ts";
import { pythonWith } from "../fixtures/official_clients.ts";

const COUNT = Number(Deno.env.get("M40_JINJA_TEMPLATES") ?? 20_000);
const SEED = Number(Deno.env.get("M40_JINJA_SEED") ?? 1);
/** Templates that one process of Python renders. */
const AT_ONCE = 5000;

Deno.test("random templates come out as Jinja2 has them, or are refused by name", async () => {
  const python = await pythonWith("jinja2==3.1.6");
  if (python === undefined) return;
  const maker = new TemplateMaker(SEED);
  const counts = new Map<Verdict, number>();
  const faults: string[] = [];
  for (let done = 0; done < COUNT; done += AT_ONCE) {
    const templates = Array.from(
      { length: Math.min(AT_ONCE, COUNT - done) },
      () => maker.template(),
    );
    const wanted = await renderedByJinja(python, VARIABLES, templates);
    templates.forEach((template, i) => {
      const here = renderedHere(template, VARIABLES);
      const verdict = judge(here, wanted[i]);
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
      if (verdict === "differs") faults.push(JSON.stringify({ template, here, jinja: wanted[i] }));
    });
  }
  console.log(Object.fromEntries(counts));
  assertEquals(faults, []);
  // Where most templates failed, little would have been compared.
  assert((counts.get("equal") ?? 0) > COUNT / 2, `only ${counts.get("equal")} are equal`);
});
