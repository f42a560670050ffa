import { assert, assertEquals, assertRejects } from "@std/assert";
import { TemplateRenderer } from "../../engine/chat/template_renderer.ts";
import { M40Error } from "../../engine/errors.ts";
import { TIMED } from "../hostile_templates.ts";
import { jobOf } from "../render_jobs.ts";

Deno.test("a template that takes too long loses its thread; others are served, and memory stays bounded", async () => {
  const renderer = new TemplateRenderer();
  const before = Deno.memoryUsage().rss;
  let peak = 0;
  let ticks = 0;
  const timer = setInterval(() => {
    ticks++;
    peak = Math.max(peak, Deno.memoryUsage().rss);
  }, 5);
  try {
    for (const [name, template] of Object.entries(TIMED)) {
      ticks = 0;
      const hostile = assertRejects(() => renderer.render(jobOf(template)), M40Error, "", name);
      const next = renderer.render(jobOf("{{ messages[0].content }}"));
      assertEquals((await hostile).code, "invalid_request", name);
      assertEquals(await next, "hi", `after ${name}`);
      assert(ticks > 0, `${name} held up everybody`);
    }
  } finally {
    clearInterval(timer);
    await renderer.close();
  }
  assert(peak - before < 768 * 2 ** 20, `memory grew by ${peak - before} bytes`);
});
