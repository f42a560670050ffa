import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import OpenAI from "openai";
import { compile } from "../../tools/compile.ts";

/** Whether `deno compile` can get the runtime that it builds on. */
async function runtimeAvailable(): Promise<boolean> {
  if (Deno.env.get("DENORT_BIN")) return true;
  try {
    const signal = AbortSignal.timeout(5000);
    const answer = await fetch("https://dl.deno.land/", { method: "HEAD", signal });
    await answer.body?.cancel();
    return true;
  } catch {
    return false;
  }
}

const available = await runtimeAvailable();
if (!available) {
  console.log(
    "skipped: the executable's tests; deno compile cannot download its runtime (set DENORT_BIN)",
  );
}

interface Program {
  /** The folder of the executable and the kernel library; the user's home is in it. */
  folder: string;
  run(args: string[], env?: Record<string, string>): Deno.Command;
}

async function withProgram(work: (program: Program) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "m40-compiled-" });
  const elsewhere = join(folder, "elsewhere");
  await Deno.mkdir(elsewhere);
  try {
    const path = await compile(join(folder, "m40"));
    await work({
      folder,
      run: (args, env = {}) =>
        new Deno.Command(path, {
          args,
          cwd: elsewhere,
          clearEnv: true,
          env: { HOME: join(folder, "home"), PATH: "/usr/bin:/bin", ...env },
          stdin: "null",
          stdout: "piped",
          stderr: "piped",
        }),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The URL that a starting server prints. */
async function urlOf(server: Deno.ChildProcess): Promise<string> {
  let printed = "";
  const decoder = new TextDecoder();
  for (const stream of [server.stdout, server.stderr]) {
    const reader = stream.getReader();
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      printed += decoder.decode(value, { stream: true });
      const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(printed);
      if (url) {
        reader.releaseLock();
        return url[0];
      }
    }
  }
  throw new Error(`the server printed no URL:\n${printed}`);
}

Deno.test({
  name: "the executable serves OpenAI's client from any directory, without Deno",
  ignore: !available,
  async fn() {
    await withProgram(async ({ folder, run }) => {
      const version = await run(["--version"]).output();
      assertMatch(new TextDecoder().decode(version.stdout), /^m40 \d+\.\d+\.\d+\n$/);

      const server = run(["serve", "--model", "demo", "--port", "0"]).spawn();
      try {
        const client = new OpenAI({ baseURL: await urlOf(server), apiKey: "none", maxRetries: 0 });
        assertEquals((await client.models.list()).data.map(({ id }) => id), ["demo"]);
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
  },
});
