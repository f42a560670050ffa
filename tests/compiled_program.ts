/**
 * The compiled executable, for tests.
 *
 * @module
 */
import { fromFileUrl, join } from "@std/path";
import { compile } from "../tools/compile.ts";
import { lives } from "./process_table.ts";

/** Whether `deno compile` can get the runtime that it builds on. */
export async function runtimeAvailable(): Promise<boolean> {
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

/** The executable in a folder of its own. */
export interface Program {
  /** The folder of the executable and the kernel library; the user's home is in it. */
  folder: string;
  run(args: string[], env?: Record<string, string>): Deno.Command;
}

/** Where runs of tests keep the executable that their files have in common, each under the number of its process. */
const COMPILED = fromFileUrl(new URL("../dist/compiled_for_tests", import.meta.url));

/** The folder of this process's executable: it is compiled for the first file of tests that needs it. */
async function compiledFolder(): Promise<string> {
  const own = join(COMPILED, `${Deno.pid}`);
  await Deno.mkdir(COMPILED, { recursive: true });
  for (const { name } of [...Deno.readDirSync(COMPILED)]) {
    if (!lives(parseInt(name))) await Deno.remove(join(COMPILED, name), { recursive: true });
    else if (name === `${Deno.pid}`) return own;
  }
  const fresh = await Deno.makeTempDir({ dir: COMPILED, prefix: `${Deno.pid}-` });
  await compile(join(fresh, "m40"));
  try {
    // Whole or not at all, for files of tests that run beside each other.
    await Deno.rename(fresh, own);
  } catch (error) {
    await Deno.remove(fresh, { recursive: true });
    // Another file was quicker.
    if (!await Deno.stat(own).then(() => true, () => false)) throw error;
  }
  return own;
}

/** Gives the executable a folder of its own, and removes that when the work is done. */
export async function withProgram(work: (program: Program) => Promise<void>): Promise<void> {
  const compiled = await compiledFolder();
  const folder = await Deno.makeTempDir({ prefix: "m40-compiled-" });
  const elsewhere = join(folder, "elsewhere");
  await Deno.mkdir(elsewhere);
  try {
    const path = join(folder, "m40");
    for await (const { name } of Deno.readDir(compiled)) {
      await Deno.copyFile(join(compiled, name), join(folder, name));
    }
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
export async function urlOf(server: Deno.ChildProcess): Promise<string> {
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
