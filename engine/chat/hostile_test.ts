/**
 * Templates that want too much end in an error; those that only the clock ends are in `slow/`.
 *
 * @module
 */
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { LIMITS, type Limits, TemplateLimitError } from "./jinja/budget.ts";
import { JinjaTemplate } from "./jinja/template.ts";
import { TemplateRenderer } from "./template_renderer.ts";
import { M40Error } from "../errors.ts";
import { COUNTED, PROTOTYPES } from "../../tests/fixtures/hostile_templates.ts";
import { jobOf, textOf } from "../../tests/fixtures/render_jobs.ts";

async function withRenderer(work: (renderer: TemplateRenderer) => Promise<void>): Promise<void> {
  await using renderer = new TemplateRenderer();
  await work(renderer);
}

Deno.test("a template that makes too much is ended before it is made, and the next one renders", async () => {
  await withRenderer(async (renderer) => {
    for (const [name, template] of Object.entries(COUNTED)) {
      const error = await assertRejects(() => renderer.render(jobOf(template)), M40Error, "", name);
      assertEquals(error.code, "invalid_request", name);
      assertEquals(error.param, "messages", name);
    }
    assertEquals(await textOf(renderer.render(jobOf("{{ messages[0].content }}"))), "hi");
  });
});

Deno.test("no name leads a template out of its values", async () => {
  await withRenderer(async (renderer) => {
    for (const template of PROTOTYPES) {
      const text = await textOf(renderer.render(jobOf(template))).catch((error) => {
        assert(error instanceof M40Error && error.code === "invalid_request", String(error));
        return "";
      });
      assertEquals(text.trim(), "", template);
    }
    // Nothing of it is left for the next one.
    assertEquals(await textOf(renderer.render(jobOf("{{ x }}{{ ''.x }}{{ messages.x }}"))), "");
  });
});

Deno.test("each limit ends what passes it, and nothing else", () => {
  const cases: [limit: Partial<Limits>, within: string, beyond: string, message: string][] = [
    [
      { steps: 60 },
      "{% for i in range(5) %}{{ i }}{% endfor %}",
      "{% for i in range(99) %}{{ i }}{% endfor %}",
      "60 steps",
    ],
    [{ depth: 20 }, "{{ ((1)) }}", `{{ ${"1 + ".repeat(30)}1 }}`, "20 deep"],
    [{ stringLength: 50 }, "{{ 'x' * 50 }}", "{{ 'x' * 51 }}", "50 characters"],
    [
      { listLength: 10 },
      "{{ range(10) | list | length }}",
      "{{ range(11) | list | length }}",
      "10 elements",
    ],
    [
      { memory: 500 },
      "{{ 'x' * 200 }}",
      "{{ ('x' * 200) | length + ('y' * 200) | length + ('z' * 200) | length }}",
      "500 characters",
    ],
    [{ milliseconds: -1 }, "{{ 1 }}", "{% for i in range(9999) %}{% endfor %}", "-1 ms"],
  ];
  for (const [limit, within, beyond, message] of cases) {
    const limits = { ...LIMITS, ...limit };
    new JinjaTemplate(within).render({}, { limits });
    assertThrows(
      () => new JinjaTemplate(beyond).render({}, { limits }),
      TemplateLimitError,
      message,
    );
  }
});
