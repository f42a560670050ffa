/**
 * Templates rendered as Hugging Face's `transformers` renders them; `tools/chat_vectors/make.py` wrote the
 * vectors.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { ChatRequest } from "./conversation.ts";
import { JinjaTemplate } from "./jinja/template.ts";
import type { RenderMessage } from "./render_job.ts";
import { renderTemplate } from "./render_template.ts";
import { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
import jinja from "../../tests/data/chat/jinja.json" with { type: "json" };
import { TOOL_FORMATS } from "./tools/formats.ts";
import { shownTool } from "./tools/shown_tool.ts";
import vectors from "../../tests/data/chat/templates.json" with { type: "json" };

const MARK = "\ue000";
const END_MARK = "\ue001";

type Wanted = { text?: string; error?: string };

const conversations = vectors.conversations as unknown as Record<string, ChatRequest>;
const templates: Record<string, string> = {
  ...vectors.templates,
  ...Object.fromEntries(BUILT_IN_TEMPLATES),
};

/** Every text of a request with a mark at each end and behind each `<`, `[` and the like. */
function marked<T>(value: T): T {
  const mark = (text: string) =>
    text === "" ? "" : MARK + text.replace(/[<\[{|｜]/g, (one) => one + MARK) + MARK;
  const visit = (value: unknown, key?: string): unknown => {
    if (typeof value === "string") return key === "role" || key === "type" ? value : mark(value);
    if (Array.isArray(value)) return value.map((item) => visit(item));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, visit(item, key)]));
  };
  return visit(value) as T;
}

/** The messages with the values that the arguments of their calls are. */
function rendered({ messages }: ChatRequest): RenderMessage[] {
  return messages.map(({ toolCalls, ...rest }) => ({
    ...rest,
    ...(toolCalls === undefined ? {} : {
      toolCalls: toolCalls.map((call) => ({
        ...call,
        value: JSON.parse(call.arguments),
        readable: true,
      })),
    }),
  }));
}

function render(template: string, request: ChatRequest, mark: string): string {
  const { templateVariables = {}, reasoningEffort, tools } = request;
  const messages = rendered(request);
  const shown = tools?.map(shownTool);
  return renderTemplate({
    template,
    messages: mark === "" ? messages : marked(messages),
    tools: mark === "" ? shown : marked(shown),
    continueFinal: request.continueFinal ?? false,
    specialTokens: vectors.specialTokens,
    toolFormats: TOOL_FORMATS.map(({ name }) => name),
    variables: {
      ...(reasoningEffort === undefined ? {} : {
        reasoning_effort: mark === "" ? reasoningEffort : marked(reasoningEffort),
      }),
      ...(mark === "" ? templateVariables : marked(templateVariables)),
    },
    mark,
    endMark: END_MARK,
    now: new Date(vectors.now).getTime(),
  }, true).text;
}

/** What came of it, in the form of the vectors: refusals and failures are recorded by a field of their own. */
function outcome(work: () => string): Wanted {
  try {
    return { text: work() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

for (const name of Object.keys(templates)) {
  Deno.test(`${name} renders conversations as transformers does, byte for byte, marked or not`, () => {
    const cases = vectors.cases.filter(({ template }) => template === name);
    assert(cases.length > 0, "there are no vectors for this template");
    for (const { conversation, text, error } of cases as (Wanted & { conversation: string })[]) {
      const request = conversations[conversation];
      const plain = outcome(() => render(templates[name], request, ""));
      const about = `${name}, ${conversation}`;
      if (text === undefined) {
        assert(plain.error !== undefined, `${about}: transformers says: ${error}`);
        continue;
      }
      assertEquals(plain, { text }, about);
      const protectedText = outcome(() => render(templates[name], request, MARK)).text;
      assertEquals(protectedText?.replaceAll(MARK, ""), text, `${about}, marked`);
    }
  });
}

Deno.test("expressions, filters, tests, loops and white space come out as Jinja has them", () => {
  const now = new Date(jinja.now);
  for (const { source, text, error } of jinja.cases as (Wanted & { source: string })[]) {
    const got = outcome(() => new JinjaTemplate(source).render(jinja.values, { now }));
    if (error === undefined) assertEquals(got, { text }, source);
    else assert(got.error !== undefined, `${source} gave ${got.text}; Jinja says: ${error}`);
  }
});

Deno.test("a template does not notice marks in what it is given", () => {
  for (const { source, text } of jinja.cases as (Wanted & { source: string })[]) {
    // Values that are written as such show their marks as Python would show any character.
    if (text === undefined || text.includes("[") || text.includes("{")) continue;
    const template = new JinjaTemplate(source);
    const got = template.render(marked(jinja.values), { now: new Date(jinja.now), mark: MARK });
    assertEquals(got.replaceAll(MARK, ""), text, source);
  }
});

Deno.test("a continued message that a template shows more than once leaves no mark in the prompt", () => {
  const template =
    "{% for m in messages %}{{ m.content }}|{{ m.content | trim }}|{{ m.content }}|{% endfor %}";
  for (const mark of ["", MARK]) {
    const messages = [{ role: "user" as const, content: "a" }, {
      role: "assistant" as const,
      content: "ok",
    }];
    const text = render(template, { messages, continueFinal: true }, mark);
    assertEquals(text.replaceAll(MARK, ""), "a|a|a|ok|ok|ok");
  }
});

Deno.test("a template's line breaks are line feeds, and a byte order mark is no text of it", () => {
  const template =
    "\ufeff{% if true %}\r\n  {# a note #}\r\n{{ 'a\r\nb' }}\r\nc\rd\r\n{% endif %}\r\n";
  assertEquals(new JinjaTemplate(template).render({}), "a\nb\nc\nd\n");
});

Deno.test("gpt-oss gets parameters of every type as harmony writes them", () => {
  const properties = {
    u: { anyOf: [{ type: "string" }, { type: "null" }], description: "U?", default: null },
    n: { type: ["integer", "null"] },
    c: { const: "x" },
    e: {},
    o: { oneOf: [{ type: "integer", description: "an int" }, { type: "string" }], default: 3 },
    s: { type: "string", nullable: true, default: "q" },
    w: { type: "string", enum: ["a", "b"], default: "a" },
    any: { type: "array" },
    ob: { type: "object" },
    p: {
      type: "object",
      properties: { lat: { type: "number", description: "L" } },
      required: ["lat"],
    },
  };
  const parameters = { type: "object", properties, required: ["n"] };
  const text = new JinjaTemplate(templates["gpt-oss"]).render({
    messages: [{ role: "user", content: "Hi" }],
    tools: [{
      type: "function",
      function: { name: "f", description: "F does\nthings.", parameters },
    }],
  });
  const written = text.slice(text.indexOf("// F does"), text.indexOf("} // namespace"));
  const wanted = `// F does
// things.
type f = (_: {
// U?
u?: any, // default: null
n: number | null,
c?: any,
e?: any,
// default: 3
o?:
 | number // an int
 | string
,
s?: string | null, // default: "q"
w?: "a" | "b", // default: a
any?: Array<any>,
ob?: {
    },
p?: {
    // L
    lat: number,
    },
}) => any;

`;
  assertEquals(written, wanted);
});
