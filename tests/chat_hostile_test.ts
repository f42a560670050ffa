/**
 * Templates that want too much end in an error; those that only the clock ends are in `slow/`.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { TemplateRenderer } from "../engine/chat/template_renderer.ts";
import { M40Error } from "../engine/errors.ts";
import { COUNTED, PROTOTYPES } from "./hostile_templates.ts";
import { jobOf } from "./render_jobs.ts";

async function withRenderer(work: (renderer: TemplateRenderer) => Promise<void>): Promise<void> {
  const renderer = new TemplateRenderer();
  try {
    await work(renderer);
  } finally {
    await renderer.close();
  }
}

Deno.test("a template that makes too much is ended before it is made, and the next one renders", async () => {
  await withRenderer(async (renderer) => {
    for (const [name, template] of Object.entries(COUNTED)) {
      const error = await assertRejects(() => renderer.render(jobOf(template)), M40Error, "", name);
      assertEquals(error.code, "invalid_request", name);
      assertEquals(error.param, "messages", name);
    }
    assertEquals(await renderer.render(jobOf("{{ messages[0].content }}")), "hi");
  });
});

Deno.test("no name leads a template out of its values", async () => {
  await withRenderer(async (renderer) => {
    for (const template of PROTOTYPES) {
      const text = await renderer.render(jobOf(template)).catch((error) => {
        assert(error instanceof M40Error && error.code === "invalid_request", String(error));
        return "";
      });
      assertEquals(text.trim(), "", template);
    }
    // Nothing of it is left for the next one.
    assertEquals(await renderer.render(jobOf("{{ x }}{{ ''.x }}{{ messages.x }}")), "");
  });
});
