/**
 * The compiled executable, for tests.
 *
 * @module
 */
import { join } from "@std/path";
import { compile } from "../tools/compile.ts";

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

/** Compiles the executable, and removes it when the work is done. */
export async function withProgram(work: (program: Program) => Promise<void>): Promise<void> {
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
