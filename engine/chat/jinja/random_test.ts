/**
 * Random templates, with the outcomes that Jinja2 gave once (`record_jinja_random.ts`). `slow/jinja_fuzz_test.ts` asks
 * it about many more.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { judge, renderedHere } from "../../../tests/fixtures/jinja_reference.ts";
import { TemplateMaker, VARIABLES } from "../../../tests/fixtures/jinja_templates.ts";
import recorded from "../../../tests/data/chat/jinja_random.json" with { type: "json" };
import type { Outcome } from "../../../tests/fixtures/python_output.ts";

Deno.test("600 random templates come out as Jinja2 has them, or are refused by name", () => {
  const maker = new TemplateMaker(recorded.seed);
  const outcomes = recorded.outcomes as Outcome[];
  const verdicts = outcomes.map((jinja) => {
    const template = maker.template();
    const here = renderedHere(template, VARIABLES);
    return { template, here, jinja, verdict: judge(here, jinja) };
  });
  assertEquals(verdicts.filter(({ verdict }) => verdict === "differs"), []);
  assert(verdicts.filter(({ verdict }) => verdict === "equal").length > outcomes.length / 2);
});
