import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { runtimeAvailable, urlOf, withProgram } from "../fixtures/compiled_program.ts";
import { ENDLESS_TEMPLATE } from "../fixtures/render_jobs.ts";

const available = await runtimeAvailable();
if (!available) {
  console.log(
    "skipped: chat in the executable; deno compile cannot download its runtime (set DENORT_BIN)",
  );
}

Deno.test(
  "the executable renders templates in a thread of its own, and one that takes too long ends alone",
  { ignore: !available },
  async () => {
    await withProgram(async ({ folder, run }) => {
      const file = join(folder, "hostile.jinja");
      await Deno.writeTextFile(
        file,
        `{% if messages[-1].content == 'endless' %}${ENDLESS_TEMPLATE}{% endif %}` +
          "<|user|>\n{{ messages[-1].content }}<|end|><|assistant|>\n",
      );
      const args = ["serve", "--model", "demo", "--port", "0", "--chat-template", file];
      const server = run(args).spawn();
      try {
        const url = await urlOf(server);
        const ask = async (content: string) => {
          const response = await fetch(`${url}/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body: JSON.stringify({ messages: [{ role: "user", content }], max_tokens: 5 }),
          });
          return { status: response.status, body: await response.text() };
        };
        assertEquals((await ask("Hello")).status, 200);
        const [hostile, next] = await Promise.all([ask("endless"), ask("Hello")]);
        assertEquals(hostile.status, 400, hostile.body);
        assert(hostile.body.includes("was ended"), hostile.body);
        assertEquals(next.status, 200, next.body);
      } finally {
        server.kill("SIGTERM");
        assertEquals((await server.output()).code, 0);
      }
    });
  },
);
