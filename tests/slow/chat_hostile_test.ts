import { assert, assertEquals, assertRejects } from "@std/assert";
import { TemplateRenderer } from "../../engine/chat/template_renderer.ts";
import { M40Error } from "../../engine/errors.ts";
import { COUNTED, TIMED } from "../fixtures/hostile_templates.ts";
import { jobOf, textOf } from "../fixtures/render_jobs.ts";

Deno.test("a template that takes too much or too long is ended; others are served, and memory stays bounded", async () => {
  const renderer = new TemplateRenderer();
  const before = Deno.memoryUsage().rss;
  let peak = 0;
  let ticks = 0;
  const timer = setInterval(() => {
    ticks++;
    peak = Math.max(peak, Deno.memoryUsage().rss);
  }, 5);
  try {
    for (const [name, template] of Object.entries({ ...COUNTED, ...TIMED })) {
      const hostile = assertRejects(() => renderer.render(jobOf(template)), M40Error, "", name);
      const next = textOf(renderer.render(jobOf("{{ messages[0].content }}")));
      assertEquals((await hostile).code, "invalid_request", name);
      assertEquals(await next, "hi", `after ${name}`);
    }
  } finally {
    clearInterval(timer);
    await renderer.close();
  }
  // A template that held up everybody would have left no time for these.
  assert(ticks > Object.keys(TIMED).length, `only ${ticks} ticks`);
  assert(peak - before < 768 * 2 ** 20, `memory grew by ${peak - before} bytes`);
});
