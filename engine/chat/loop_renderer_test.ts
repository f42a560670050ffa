/**
 * Short conversations are rendered on the event loop: with the same results as in the thread, and with all work counted
 * before it is done.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import jinja from "../../tests/data/chat/jinja.json" with { type: "json" };
import vectors from "../../tests/data/chat/templates.json" with { type: "json" };
import { COUNTED, TIMED } from "../../tests/fixtures/hostile_templates.ts";
import { jobOf } from "../../tests/fixtures/render_jobs.ts";
import type { ChatRequest } from "./conversation.ts";
import { Budget, LOOP_LIMITS, TemplateLimitError } from "./jinja/budget.ts";
import { knownFilters } from "./jinja/filters.ts";
import { MARKUP_METHODS, STRING_METHODS } from "./jinja/string_methods.ts";
import { JinjaTemplate } from "./jinja/template.ts";
import { knownTests } from "./jinja/tests.ts";
import { LoopRenderer } from "./loop_renderer.ts";
import { Protection } from "./protection.ts";
import type { RenderJob } from "./render_job.ts";
import { programOf, reply } from "./render_template.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import { shownTool } from "./tools/shown_tool.ts";
import { loadTokenizer } from "../tokenizer/load.ts";
import { BASIC, vocabularyMetadata } from "../../tests/fixtures/tokenizer_metadata.ts";

const NOW = new Date(2025, 5, 15, 12).getTime();
const tokenizer = loadTokenizer(vocabularyMetadata([...BASIC, "▁"]));

const SPECIAL_TOKENS = { bos_token: "<s>", eos_token: "</s>" };

/** A request as it is rendered. */
function jobFor(template: string, request: ChatRequest): RenderJob {
  const { messages, tools, continueFinal = false, templateVariables = {} } = request;
  const protection = new Protection(tokenizer, /[<\[{|]/g, request, template);
  const { mark, endMark, size } = protection;
  return {
    template,
    messages: messages.map((message) => protection.message(message)),
    tools: tools?.map((tool) => protection.value(shownTool(tool)) as ReturnType<typeof shownTool>),
    continueFinal,
    specialTokens: SPECIAL_TOKENS,
    variables: protection.value(templateVariables) as Record<string, unknown>,
    mark,
    endMark,
    size,
    now: NOW,
  };
}

/** A renderer that knows a template as the thread hands it over. */
function knowing(template: string): LoopRenderer {
  const loop = new LoopRenderer();
  reply({ ...jobOf(template), specialTokens: SPECIAL_TOKENS });
  loop.learn(template, structuredClone(programOf(template)!));
  return loop;
}

Deno.test("a conversation gives the same on the event loop as in the thread", () => {
  const conversations = vectors.conversations as unknown as Record<string, ChatRequest>;
  const templates = { ...vectors.templates, ...Object.fromEntries(BUILT_IN_TEMPLATES) };
  let [posted, all] = [0, 0];
  for (const [name, template] of Object.entries(templates)) {
    const loop = knowing(template);
    for (const [conversation, request] of Object.entries(conversations)) {
      const job = jobFor(template, request);
      const made = loop.render(job);
      all++;
      if (made === undefined) posted++;
      else assertEquals(made, reply(job), `${name}, ${conversation}`);
    }
  }
  assert(posted < all / 20, `${posted} of ${all} are for the thread`);
});

Deno.test("a template gives the same within the event loop's budget, or ends there", () => {
  const outcome = (render: () => string) => {
    try {
      return render();
    } catch (error) {
      return error as Error;
    }
  };
  const now = new Date(NOW);
  for (const { source } of jinja.cases) {
    let template: JinjaTemplate;
    try {
      template = new JinjaTemplate(source);
    } catch {
      continue;
    }
    const budget = new Budget(LOOP_LIMITS);
    const made = outcome(() => template.render(jinja.values, { budget, now }));
    if (made instanceof TemplateLimitError) continue;
    const wanted = outcome(() => template.render(jinja.values, { now }));
    assertEquals(String(made), String(wanted), source);
  }
});

Deno.test("what is hostile ends on the event loop", () => {
  for (const [name, source] of Object.entries({ ...COUNTED, ...TIMED })) {
    let template: JinjaTemplate;
    try {
      template = new JinjaTemplate(source);
    } catch {
      // The thread parses, and hands no such template over.
      continue;
    }
    const messages = [{ role: "user", content: "hi" }];
    const budget = new Budget(LOOP_LIMITS);
    assertThrows(() => template.render({ messages }, { budget }), Error, "", name);
  }
});

Deno.test("every builtin counts what it is given before it looks at it", () => {
  const long = "a".repeat(40_000);
  const list = Array.from({ length: 4000 }, (_, i) => i);
  const expressions = [...knownFilters()].flatMap((
    name,
  ) => [`t | ${name}`, `l | ${name}`, `'' | ${name}(t)`])
    .concat([...STRING_METHODS.keys()].flatMap((name) => [`t.${name}()`, `''.${name}(t)`]))
    .concat([...MARKUP_METHODS.keys()].map((name) => `(t | safe).${name}()`))
    .concat(
      knownTests().filter((name) => /\w/.test(name)).flatMap((
        name,
      ) => [`t is ${name}`, `'' is ${name}(t)`]),
    )
    .concat([
      "t == 'x'",
      "'x' == t",
      "t < 'x'",
      "'x' in t",
      "t in ['x']",
      "['x'] == [t]",
      "t ~ 'x'",
    ])
    .concat(["t + 'x'", "t * 2", "t[1:]", "t[::2]", "t[7]", "{}[t]", "{t: 1}", "[t] | string"])
    .concat(["l + l", "l * 2", "l[1:]", "t % 1", "'%s' % t", "dict([t])", "raise_exception([t])"])
    .concat(["l == m", "l < m", "l.count(0)", "l.index(0)", "1.5[t]", "l[t]"])
    .concat(["[t] | tojson", "t.format()", "'{}'.format(t)", "[t] | map('upper') | list"]);
  const ANY_LENGTH = { listLength: Infinity, stringLength: Infinity };
  const given = { t: long, l: list, m: [...list] };
  const start = new Budget({ ...LOOP_LIMITS, steps: Infinity });
  new JinjaTemplate("").render(given, { budget: start });
  const steps = start.steps + long.length * LOOP_LIMITS.stepsPerCharacter;
  for (const expression of expressions) {
    const template = new JinjaTemplate(`{% set x = ${expression} %}`);
    const budget = new Budget({ ...LOOP_LIMITS, steps: steps - 1000, ...ANY_LENGTH });
    assertThrows(
      () => template.render(given, { budget }),
      TemplateLimitError,
      "steps",
      expression,
    );
  }
});

Deno.test("what takes longer than a look at each character counts as more", () => {
  const given = { t: "a".repeat(4000) };
  const stepsOf = (source: string) => {
    const budget = new Budget({ ...LOOP_LIMITS, steps: Infinity });
    new JinjaTemplate(source).render(given, { budget });
    return budget.steps;
  };
  for (const expression of ["'a'.strip(t)", "'a' | trim(t)", "t.istitle()", "t.isspace()"]) {
    const steps = stepsOf(`{% set x = ${expression} %}`) - stepsOf("{% set x = t.isalpha() %}");
    assert(steps > given.t.length / 2, `${expression}: ${steps}`);
  }
});

Deno.test("tuples that share their parts, and long digits, end on the event loop", () => {
  const sources = [
    // 2^17 elements out of 17 tuples, and one that makes no key of them.
    "{% set ns = namespace(t=(0,)) %}{% for i in range(17) %}{% set ns.t = (ns.t, ns.t) %}{% endfor %}" +
    "{{ {}[(ns.t, [])] }}",
    "{{ ('1' * 100) | float }}",
  ];
  for (const source of sources) {
    const budget = new Budget(LOOP_LIMITS);
    assertThrows(() => new JinjaTemplate(source).render({}, { budget }), TemplateLimitError);
  }
});

Deno.test("a conversation that takes too much is for the thread, and so are longer ones from then on", () => {
  const template = "{{ messages[0].content }}" +
    "{% for i in range(messages[0].content | length) %}{% for j in range(40) %}{% endfor %}{% endfor %}";
  const loop = knowing(template);
  const made = (characters: number, more: Partial<RenderJob> = {}) =>
    loop.render({ ...jobOf(template, "x".repeat(characters)), size: characters, ...more });
  assertEquals(made(50), reply(jobOf(template, "x".repeat(50))));
  // That much only makes it too long for this template.
  assertEquals(made(3000), undefined);
  assert(made(60) !== undefined);
  // It is not tried again: what is not short enough is not even looked at.
  assertEquals(made(50, { size: 3000 }), undefined);
  assertEquals(made(50, { size: undefined }), undefined);
  assertEquals(
    knowing("{{ messages[0].content }}").render({
      ...jobOf("{{ messages[0].content }}"),
      size: 2 ** 14,
    }),
    undefined,
  );
});

Deno.test("a conversation that takes too much for what it finds out about the template keeps no other one away", () => {
  // Two trials are within what a job may take, and so is one rendering; together they are not.
  const template = "{% for i in range(2750) %}{% endfor %}".repeat(2) + "{{ messages[0].content }}";
  const loop = knowing(template);
  const job = { ...jobOf(template), size: 40 };
  assertEquals(loop.render(job), undefined);
  assertEquals(loop.render(job), reply(job));
});
