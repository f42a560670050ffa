// OpenAI's official clients against a server in a process of its own, and against the executable.
import { assertEquals } from "@std/assert";
import { basename, fromFileUrl, join } from "@std/path";
import { byteLevelModel } from "../byte_level_model.ts";
import { ROOT } from "../cli_program.ts";
import { runtimeAvailable, urlOf, withProgram } from "../compiled_program.ts";
import { exerciseClient } from "../openai_exercise.ts";

/** The client for Python and the pydantic that it is checked with. */
const PACKAGES = ["openai==3.54.0", "pydantic==2.14.3"];
const SCRIPT = fromFileUrl(new URL("openai_client.py", import.meta.url));
const KEY = "sk-test";

/** Runs a program; gives what it said where it failed, or cannot be had. */
async function failureOf(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const command = new Deno.Command(program, { args, stdin: "null" });
    const { success, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    return success ? undefined : decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    return String(error);
  }
}

/** A Python with the client, in a folder of its own; undefined, and a message, where it cannot be had. */
async function pythonWithClient(folder: string): Promise<string | undefined> {
  const python = join(folder, "bin/python");
  const failure = await failureOf("python3", "-m", "venv", folder) ??
    await failureOf(python, "-m", "pip", "install", "--quiet", ...PACKAGES);
  if (failure === undefined) return python;
  console.log(`skipped: OpenAI's client for Python cannot be installed: ${failure.slice(-300)}`);
}

const folder = await Deno.makeTempDir({ prefix: "m40-python-" });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const python = await pythonWithClient(folder);
const compiles = await runtimeAvailable();

/** A model that is served, and how. */
interface Served {
  readonly model: string;
  readonly args: readonly string[];
  readonly fillsGaps?: boolean;
}

const DEMO: Served = { model: "demo", args: ["--model", "demo", "--chat-template", "chatml"] };
const ENVIRONMENT = { M40_API_KEY: KEY };

/** Starts a server and exercises it with both clients; it must end well afterwards. */
async function exercise(
  t: Deno.TestContext,
  { model, args, fillsGaps }: Served,
  start: (args: string[]) => Deno.Command,
): Promise<void> {
  const server = start(["serve", "--port", "0", ...args]).spawn();
  try {
    const baseURL = await urlOf(server);
    await t.step(
      "the client for JavaScript",
      () => exerciseClient({ baseURL, model, apiKey: KEY, fillsGaps }),
    );
    await t.step({
      name: "the client for Python, every answer by its own types",
      ignore: python === undefined,
      fn: async () =>
        assertEquals(await failureOf(python!, SCRIPT, baseURL, model, KEY), undefined),
    });
  } finally {
    server.kill("SIGTERM");
    assertEquals((await server.output()).code, 0);
  }
}

/** `m40` from the checkout, in a process of its own. */
function fromCheckout(args: string[]): Deno.Command {
  const piped = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", ...args],
    cwd: ROOT,
    env: ENVIRONMENT,
    ...piped,
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
