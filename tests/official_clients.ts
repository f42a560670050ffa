/**
 * Official clients of others' APIs against `m40 serve`: programs in Python, and a server in a process of its own.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { join } from "@std/path";
import { ROOT } from "./cli_program.ts";
import { urlOf } from "./compiled_program.ts";

/** The key of the servers. */
export const KEY = "sk-test";
/** What the servers run with. */
export const ENVIRONMENT = { M40_API_KEY: KEY };

/** Runs a program; gives what it said where it failed, or cannot be had. */
export async function failureOf(program: string, ...args: string[]): Promise<string | undefined> {
  try {
    const command = new Deno.Command(program, { args, stdin: "null" });
    const { success, stdout, stderr } = await command.output();
    const decoder = new TextDecoder();
    return success ? undefined : decoder.decode(stdout) + decoder.decode(stderr);
  } catch (error) {
    return String(error);
  }
}

/**
 * A Python with packages, in a folder that lasts as long as this process; undefined, and a message, where they
 * cannot be had.
 */
export async function pythonWith(...packages: string[]): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "m40-python-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const python = join(folder, "bin/python");
  const failure = await failureOf("python3", "-m", "venv", folder) ??
    await failureOf(python, "-m", "pip", "install", "--quiet", ...packages);
  if (failure === undefined) return python;
  console.log(`skipped: ${packages.join(" ")} cannot be installed: ${failure.slice(-300)}`);
}

/** `m40` from the checkout, in a process of its own. */
export function fromCheckout(
  args: string[],
  env: Record<string, string> = ENVIRONMENT,
): Deno.Command {
  const piped = { stdin: "null", stdout: "piped", stderr: "piped" } as const;
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", ...args],
    cwd: ROOT,
    env,
    ...piped,
  });
}

/**
 * Does work with a server, which must end well afterwards.
 *
 * @param serve `m40 serve` with a free port.
 * @param work Gets the URL that the server prints, `http://127.0.0.1:PORT/v1`.
 */
export async function withServer(
  serve: Deno.Command,
  work: (baseURL: string) => Promise<void>,
): Promise<void> {
  const server = serve.spawn();
  try {
    await work(await urlOf(server));
  } finally {
    server.kill("SIGTERM");
    assertEquals((await server.output()).code, 0);
  }
}
