// OpenAI's official clients against a server in a process of its own, and against the executable.
import { assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
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

const SERVE = ["serve", "--model", "demo", "--port", "0", "--chat-template", "chatml"];
const MODEL_ENV = { M40_API_KEY: KEY };

/** Starts a server and exercises it with both clients; it must end well afterwards. */
async function exercise(t: Deno.TestContext, command: Deno.Command): Promise<void> {
  const server = command.spawn();
  try {
    const baseURL = await urlOf(server);
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
  } finally {
    server.kill("SIGTERM");
    assertEquals((await server.output()).code, 0);
  }
}

Deno.test("OpenAI's clients do everything about text with m40 serve", async (t) => {
  const args = ["run", "-A", "main.ts", ...SERVE];
  const piped = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
  await exercise(
    t,
    new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env: MODEL_ENV, ...piped }),
  );
});

Deno.test({
  name: "OpenAI's clients do everything about text with the executable",
  ignore: !compiles,
  fn: (t) => withProgram(({ run }) => exercise(t, run(SERVE, MODEL_ENV))),
});
