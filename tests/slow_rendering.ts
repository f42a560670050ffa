import { assertEquals } from "@std/assert";
import { jobOf, textOf, withThread } from "./render_jobs.ts";

// Run by chat_renderer_test.ts in a process that computes nothing else.

Deno.test("a rendering that waits longer than it may compute is not ended", async () => {
  const waits = `
    const nobody = new Int32Array(new SharedArrayBuffer(4));
    port.on("message", () => {
      Atomics.wait(nobody, 0, 0, 1500);
      port.postMessage({ text: "there" });
    });
    port.postMessage("ready");`;
  await withThread(waits, async (renderer) => {
    assertEquals(await textOf(renderer.render(jobOf("{{ messages[0].content }}"))), "there");
  });
});
