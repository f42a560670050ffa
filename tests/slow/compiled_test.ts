import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import OpenAI from "openai";
import { childrenOf, endOf, lives } from "../fixtures/process_table.ts";
import { runtimeAvailable, urlOf, withProgram } from "../fixtures/compiled_program.ts";

const available = await runtimeAvailable();
if (!available) {
  console.log(
    "skipped: the executable's tests; deno compile cannot download its runtime (set DENORT_BIN)",
  );
}

Deno.test("the executable serves OpenAI's client from any directory, without Deno", {
  ignore: !available,
}, async () => {
  await withProgram(async ({ folder, run }) => {
    // Nothing about the machine that built it.
    const bytes = new TextDecoder("latin1").decode(await Deno.readFile(join(folder, "m40")));
    const cache = Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME")!, ".cache/deno");
    assert(!bytes.includes(cache), `${cache} is in the executable`);

    const version = await run(["--version"]).output();
    assertMatch(new TextDecoder().decode(version.stdout), /^m40 \d+\.\d+\.\d+\n$/);

    const server = run(["serve", "--model", "demo", "--port", "0"]).spawn();
    try {
      const client = new OpenAI({ baseURL: await urlOf(server), apiKey: "none", maxRetries: 0 });
      assertEquals((await client.models.list()).data.map(({ id }) => id), ["demo"]);
      for (const path of ["", "m40/page/main.js", "m40/page/libraries/temml.js"]) {
        const file = await fetch(new URL(`../${path}`, client.baseURL + "/"), {
          headers: { Accept: "text/html" },
        });
        assertEquals([file.status, (await file.text()).length > 500], [200, true], path);
      }
      const asked = { model: "demo", prompt: "Once upon a time", max_tokens: 20, temperature: 0 };
      const whole = await client.completions.create(asked);
      assert(whole.choices[0].text.length > 20);
      let streamed = "";
      for await (const part of await client.completions.create({ ...asked, stream: true })) {
        streamed += part.choices[0]?.text ?? "";
      }
      assertEquals(streamed, whole.choices[0].text);
      const aborted = await client.completions.create({
        ...asked,
        max_tokens: 900,
        stream: true,
      });
      for await (const _ of aborted) {
        aborted.controller.abort();
      }
      const error = await assertRejects(
        () => client.completions.create({ ...asked, model: "nobody" }),
        OpenAI.NotFoundError,
      );
      assertEquals(error.code, "model_not_found");
    } finally {
      server.kill("SIGTERM");
      assertEquals((await server.output()).code, 0);
    }

    await Deno.remove(join(folder, "libm40_cpu.so"));
    const missing = await run(["run", "demo", "Once"]).output();
    assertEquals(missing.code, 1);
    const message = new TextDecoder().decode(missing.stderr);
    assert(message.includes(join(folder, "libm40_cpu.so")), message);
  });
});

Deno.test("the executable starts its device's process itself, outlives it, and takes it with it", {
  ignore: !available,
}, async () => {
  await withProgram(async ({ run }) => {
    for (const first of ["server", "device"]) {
      const server = run(["serve", "--model", "demo", "--port", "0"]).spawn();
      const url = await urlOf(server);
      const [device] = childrenOf(server.pid);
      assert(lives(device));
      if (first === "device") {
        Deno.kill(device, "SIGKILL");
        await endOf(device);
        const health = await fetch(url.replace(/\/v1$/, "/health"));
        await health.body?.cancel();
        assert(lives(server.pid));
      }
      server.kill("SIGKILL");
      await server.output();
      await endOf(device);
    }
  });
});
