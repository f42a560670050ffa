// OpenAI's official clients against a server in a process of its own, and against the executable.
import { assertEquals } from "@std/assert";
import { basename, fromFileUrl } from "@std/path";
import { byteLevelModel } from "../fixtures/byte_level_model.ts";
import { runtimeAvailable, withProgram } from "../fixtures/compiled_program.ts";
import {
  ENVIRONMENT,
  failureOf,
  fromCheckout,
  KEY,
  pythonWith,
  withServer,
} from "../fixtures/official_clients.ts";
import { exerciseClient } from "../fixtures/openai_exercise.ts";

/** The client for Python and the pydantic that it is checked with. */
const PACKAGES = ["openai==3.54.0", "pydantic==2.14.3"];
/** What it does by each of OpenAI's APIs for text. */
const SCRIPTS = ["openai_client.py", "openai_responses_client.py"];

const python = await pythonWith(...PACKAGES);
const compiles = await runtimeAvailable();

/** A model that is served, and how. */
interface Served {
  readonly model: string;
  readonly args: readonly string[];
  readonly fillsGaps?: boolean;
}

const DEMO: Served = { model: "demo", args: ["--model", "demo", "--chat-template", "chatml"] };

/** Starts a server and exercises it with both clients. */
async function exercise(
  t: Deno.TestContext,
  { model, args, fillsGaps }: Served,
  start: (args: string[]) => Deno.Command,
): Promise<void> {
  await withServer(start(["serve", "--port", "0", ...args]), async (baseURL) => {
    await t.step(
      "the client for JavaScript",
      () => exerciseClient({ baseURL, model, apiKey: KEY, fillsGaps }),
    );
    for (const script of SCRIPTS) {
      const path = fromFileUrl(new URL(script, import.meta.url));
      await t.step({
        name: `the client for Python, every answer by its own types: ${script}`,
        ignore: python === undefined,
        fn: async () =>
          assertEquals(await failureOf(python!, path, baseURL, model, KEY), undefined),
      });
    }
  });
}

Deno.test("OpenAI's clients do everything about text with m40 serve", async (t) => {
  await exercise(t, DEMO, fromCheckout);
});

Deno.test("OpenAI's clients do everything about text with a byte-level model", async (t) => {
  using file = await byteLevelModel();
  const model = basename(file.path, ".gguf");
  await exercise(t, { model, args: ["--model", file.path], fillsGaps: true }, fromCheckout);
});

Deno.test({
  name: "OpenAI's clients do everything about text with the executable",
  ignore: !compiles,
  fn: (t) => withProgram(({ run }) => exercise(t, DEMO, (args) => run(args, ENVIRONMENT))),
});
