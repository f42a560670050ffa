/**
 * Makes `dist/m40`: one executable with the demo model inside, next to the kernel libraries that it opens. `deno task
 * compile [--output PATH]`
 *
 * Set DENORT_BIN to use a runtime that is already there instead of downloading it.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { dirname, fromFileUrl, join, resolve } from "@std/path";
import { buildKernels } from "../build_kernels.ts";
import { compileExecutable } from "./build/executable.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/** Compiles the executable, and puts the CPU's library next to it; returns its path. */
export async function compile(output = join(ROOT, "dist", "m40")): Promise<string> {
  const { path: library } = await buildKernels({ target: "cpu", log: console.log });
  await compileExecutable(resolve(output));
  const folder = dirname(resolve(output));
  if (resolve(folder) !== resolve(dirname(library))) {
    await Deno.copyFile(library, join(folder, "libm40_cpu.so"));
  }
  return output;
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, { string: ["output"] });
  console.log(await compile(args.output));
}
