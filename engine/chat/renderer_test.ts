import { assertEquals, assertRejects } from "@std/assert";
import { TemplateRenderer } from "./template_renderer.ts";
import { M40Error, type M40ErrorCode } from "../errors.ts";
import { ENDLESS_TEMPLATE, jobOf, textOf, withThread } from "../../tests/fixtures/render_jobs.ts";

const ECHO = jobOf("{{ messages[0].content }}");
const ENDLESS = jobOf(ENDLESS_TEMPLATE);

async function fails(promise: Promise<unknown>, code: M40ErrorCode, message = ""): Promise<void> {
  const error = await assertRejects(() => promise, M40Error, message);
  assertEquals(error.code, code);
}

Deno.test("what a template says by raise_exception is what its user reads", async () => {
  const renderer = new TemplateRenderer();
  const refusing = jobOf("{{ raise_exception('no ' ~ messages[0].content) }}");
  await fails(renderer.render(refusing), "invalid_request", "refuses this conversation: no hi");
  await fails(renderer.render(jobOf("{{ 1 / 0 }}")), "invalid_request", "division by zero");
  await fails(
    renderer.render(jobOf("{{ nothing.of.this }}")),
    "invalid_request",
    '"nothing" is not',
  );
  await fails(
    renderer.render(jobOf("{% for %}")),
    "invalid_request",
    "failed on this conversation",
  );
  const below = jobOf(
    "a\n{% if true %}\n{% for m in messages %}\n{{ 1 + m.content }}\n{% endfor %}{% endif %}",
  );
  await fails(renderer.render(below), "invalid_request", "(line 4)");
  assertEquals(await textOf(renderer.render(jobOf("{{ nothing }}{{ none }}"))), "None");
  await renderer.close();
});

Deno.test("many renderings at once all get their own text", async () => {
  const renderer = new TemplateRenderer();
  const texts = Array.from({ length: 50 }, (_, i) => `text ${i}`);
  const rendered = texts.map((text) =>
    textOf(renderer.render(jobOf("[{{ messages[0].content }}]", text)))
  );
  assertEquals(await Promise.all(rendered), texts.map((text) => `[${text}]`));
  await renderer.close();
});

Deno.test("those that wait behind an endless template are rendered by the next thread", async () => {
  const renderer = new TemplateRenderer();
  const endless = renderer.render(ENDLESS);
  const waiting = [1, 2, 3].map(() => textOf(renderer.render(ECHO)));
  await fails(endless, "invalid_request", "took more than 1000 ms and was ended");
  assertEquals(await Promise.all(waiting), ["hi", "hi", "hi"]);
  await renderer.close();
});

Deno.test("a signal cancels a rendering that waits, and one that goes on; others are not touched", async () => {
  const renderer = new TemplateRenderer();
  await fails(renderer.render(ECHO, AbortSignal.abort()), "cancelled");
  const abort = new AbortController();
  const running = renderer.render(ENDLESS, abort.signal);
  const waiting = renderer.render(ECHO, abort.signal);
  const other = textOf(renderer.render(ECHO));
  const ends = [fails(running, "cancelled"), fails(waiting, "cancelled")];
  abort.abort();
  await Promise.all(ends);
  assertEquals(await other, "hi");
  await renderer.close();
});

Deno.test("closing ends what is rendered, what waits and a thread that starts, and nothing is left", async () => {
  const idle = new TemplateRenderer();
  await idle.close();
  await fails(idle.render(ECHO), "cancelled");
  const starting = new TemplateRenderer();
  const early = fails(starting.render(ECHO), "cancelled");
  await Promise.all([starting.close(), early]);
  const running = new TemplateRenderer();
  await running.render(ECHO);
  const ends = [
    fails(running.render(ENDLESS), "cancelled"),
    fails(running.render(ECHO), "cancelled"),
  ];
  await Promise.all([running.close(), running.close(), ...ends]);
});

Deno.test("a thread that cannot be started fails the waiting requests, and the next one tries again", async () => {
  const file = await Deno.makeTempFile({ suffix: ".mjs" });
  await Deno.remove(file);
  const renderer = new TemplateRenderer(new URL(`file://${file}`));
  await Promise.all([
    fails(renderer.render(ECHO), "internal", "thread that renders chat templates failed"),
    fails(renderer.render(ECHO), "internal", "thread that renders chat templates failed"),
  ]);
  await Deno.writeTextFile(
    file,
    `import { parentPort as port } from "node:worker_threads";
    port.on("message", () => port.postMessage({ text: "there" }));
    port.postMessage("ready");`,
  );
  assertEquals(await textOf(renderer.render(ECHO)), "there");
  await renderer.close();
  await Deno.remove(file);
});

Deno.test("a thread that dies in the middle fails its own rendering; the others get a new thread", async () => {
  const dying = `
    port.on("message", ({ messages: [{ content }] }) => {
      if (content === "throw") throw new Error("a fault");
      if (content === "exit") process.exit(3);
      port.postMessage({ text: content });
    });
    port.postMessage("ready");`;
  await withThread(`import process from "node:process";\n${dying}`, async (renderer) => {
    for (const fault of ["throw", "exit"]) {
      const lost = renderer.render(jobOf("", fault));
      const next = textOf(renderer.render(jobOf("", "well")));
      await fails(lost, "internal", "thread that renders chat templates failed");
      assertEquals(await next, "well");
    }
  });
});

Deno.test("a thread that takes too much memory is a template that takes too much", async () => {
  const greedy = `
    port.on("message", () => {
      const kept = [];
      for (;;) kept.push({ kept: kept.length });
    });
    port.postMessage("ready");`;
  await withThread(greedy, async (renderer) => {
    await fails(renderer.render(ECHO), "invalid_request", "and was ended");
  });
});

Deno.test("a rendering that gets little of the processors has as much work as on an idle machine", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  const waits = `
    const never = new Int32Array(new SharedArrayBuffer(4));
    port.on("message", () => {
      Atomics.wait(never, 0, 0, 2000);
      port.postMessage({ text: "there" });
    });
    port.postMessage({ thread: Deno.readLinkSync("/proc/thread-self") });`;
  // What other threads of the process compute meanwhile is not the rendering's.
  const endless = "data:text/javascript,for (;;);";
  const computing = [1, 2, 3].map(() => new Worker(endless, { type: "module" }));
  await withThread(waits, async (renderer) => {
    assertEquals(await textOf(renderer.render(ECHO)), "there");
  });
  for (const worker of computing) worker.terminate();
});

Deno.test("a rendering that computes nothing and never ends is given up", async () => {
  await withThread(
    `port.on("message", () => {});\nport.postMessage("ready");`,
    async (renderer) => {
      await fails(renderer.render(ECHO), "invalid_request", "took more than 1000 ms and was ended");
    },
  );
});

Deno.test("a thread that ends before it is ready is an error, not a wait", async () => {
  await withThread("", async (renderer) => {
    await fails(renderer.render(ECHO), "internal", "it ended");
  });
});
