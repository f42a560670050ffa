/**
 * What Jinja2 makes of random templates, for jinja_random_test.ts:
 *
 *     deno run -A tests/record_jinja_random.ts PYTHON
 *
 * PYTHON is a Python with jinja2 3.1.6. Writes tests/data/chat/jinja_random.json.
 *
 * @module
 */
import { renderedByJinja } from "./jinja_reference.ts";
import { TemplateMaker, VARIABLES } from "./jinja_templates.ts";

const SEED = 42;
const COUNT = 600;

const maker = new TemplateMaker(SEED);
const templates = Array.from({ length: COUNT }, () => maker.template());
const outcomes = await renderedByJinja(Deno.args[0], VARIABLES, templates);
const file = new URL("./data/chat/jinja_random.json", import.meta.url);
await Deno.writeTextFile(file, JSON.stringify({ seed: SEED, outcomes }, null, 1) + "\n");
