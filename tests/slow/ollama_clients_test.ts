// Ollama's official clients against a server in a process of its own, and against the executable.
import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { runtimeAvailable, withProgram } from "../fixtures/compiled_program.ts";
import {
  ENVIRONMENT,
  failureOf,
  fromCheckout,
  KEY,
  pythonWith,
  withServer,
} from "../fixtures/official_clients.ts";
import { exerciseClient } from "../fixtures/ollama_exercise.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

/** The client for Python and the pydantic that it is checked with. */
const PACKAGES = ["ollama==0.6.3", "pydantic==2.14.3"];
const SCRIPT = fromFileUrl(new URL("ollama_client.py", import.meta.url));
const SERVE = "serve --port 0 --chat-template chatml --allow-store-changes".split(" ");

const python = await pythonWith(...PACKAGES);
const compiles = await runtimeAvailable();

/** Exercises a server with both clients; its models directory is empty at first. */
async function exercise(
  t: Deno.TestContext,
  serve: (env: Record<string, string>) => Deno.Command,
): Promise<void> {
  using temporary = new TemporaryFolder();
  const models = temporary.path;
  await withServer(serve({ ...ENVIRONMENT, M40_MODELS: models }), async (url) => {
    const host = url.replace(/\/v1$/, "");
    await t.step(
      "the client for JavaScript",
      () => exerciseClient({ host, model: "demo", apiKey: KEY, storeChanges: true, tools: true }),
    );
    await t.step({
      name: "the client for Python, every answer by its own types",
      ignore: python === undefined,
      fn: async () => assertEquals(await failureOf(python!, SCRIPT, host, "demo", KEY), undefined),
    });
  });
}

Deno.test({
  name: "Ollama's clients do everything about text with m40 serve",
  // The client for JavaScript leaves the end of a stream's body unread.
  sanitizeResources: false,
  fn: (t) => exercise(t, (env) => fromCheckout(SERVE, env)),
});

Deno.test({
  name: "Ollama's clients do everything about text with the executable",
  ignore: !compiles,
  sanitizeResources: false,
  fn: (t) => withProgram(({ run }) => exercise(t, (env) => run(SERVE, env))),
});
