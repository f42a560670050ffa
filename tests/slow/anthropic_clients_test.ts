// Anthropic's official clients against a server in a process of its own, and against the executable.
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { exerciseClient } from "../fixtures/anthropic_exercise.ts";
import { runtimeAvailable, withProgram } from "../fixtures/compiled_program.ts";
import {
  ENVIRONMENT,
  failureOf,
  fromCheckout,
  KEY,
  pythonWith,
  withServer,
} from "../fixtures/official_clients.ts";

/** The client for Python and the pydantic that it is checked with. */
const PACKAGES = ["anthropic==2.12.0", "pydantic==2.14.3"];
const SCRIPT = fromFileUrl(new URL("anthropic_client.py", import.meta.url));
const SERVE = ["serve", "--port", "0", "--model", "demo", "--chat-template", "chatml"];

const python = await pythonWith(...PACKAGES);
const compiles = await runtimeAvailable();

/** Exercises a server with both clients, which put /v1 behind the URL by themselves. */
async function exercise(t: Deno.TestContext, serve: Deno.Command): Promise<void> {
  await withServer(serve, async (url) => {
    const baseURL = url.replace(/\/v1$/, "");
    await t.step(
      "the client for JavaScript",
      () => exerciseClient({ baseURL, model: "demo", apiKey: KEY }),
    );
    await t.step({
      name: "the client for Python, every answer by its own types",
      ignore: python === undefined,
      fn: async () =>
        assertEquals(await failureOf(python!, SCRIPT, baseURL, "demo", KEY), undefined),
    });
  });
}

Deno.test("Anthropic's clients do everything about text with m40 serve", async (t) => {
  await exercise(t, fromCheckout(SERVE));
});

Deno.test({
  name: "Anthropic's clients do everything about text with the executable",
  ignore: !compiles,
  fn: (t) => withProgram(({ run }) => exercise(t, run(SERVE, ENVIRONMENT))),
});
