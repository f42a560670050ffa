/**
 * Makes `dist/m40`: one executable with the demo model inside, beside the kernel libraries that it
 * opens. `deno task compile [--output PATH]`
 *
 * Set DENORT_BIN to use a runtime that is already there instead of downloading it.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { dirname, fromFileUrl, join, resolve } from "@std/path";
import { buildKernels } from "../build_kernels.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));

/**
 * What the executable may do. It reads models wherever they are, writes its cache and history where
 * the user keeps such things (which is not known here), listens where it is told, and opens kernel
 * libraries. The environment is read for its own settings and where the user keeps files, and for the variables
 * that a file of MCP servers names. It starts itself, for the device, and the MCP servers that it is told of: where
 * there are none it gives that permission up (`cli/permissions.ts`). It asks nobody: what is not allowed fails.
 */
const PERMISSIONS = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-run",
  "--allow-ffi",
  // The free space of a disk, before a model is fetched.
  "--allow-sys=statfs",
];

/** Packages that tests alone use; `deno compile` would embed every package that deno.json names. */
const TEST_PACKAGES = ["axe-core/", "fast-check", "openai", "playwright-core"];

/** A deno.json without the tests' packages; returns its path. */
async function writeConfig(): Promise<string> {
  const { imports, compilerOptions, unstable } = JSON.parse(
    await Deno.readTextFile(join(ROOT, "deno.json")),
  );
  for (const name of TEST_PACKAGES) delete imports[name];
  delete compilerOptions.types;
  const path = join(ROOT, "dist", "compile.json");
  const config = { nodeModulesDir: "none", unstable, imports, compilerOptions };
  await Deno.writeTextFile(path, JSON.stringify(config));
  return path;
}

/**
 * Compiles the executable.
 *
 * @param commit What it says that it was made of.
 * @returns Its path.
 */
export async function compile(
  output = join(ROOT, "dist", "m40"),
  commit?: string,
): Promise<string> {
  const { path: library } = await buildKernels({ target: "cpu", commit, log: console.log });
  const build = join(ROOT, "dist", "build.json");
  await Deno.writeTextFile(build, JSON.stringify({ commit: commit ?? null }));
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--no-check",
      // Versions are pinned in the config itself; a lock would bring back what it leaves out.
      ...["--config", await writeConfig(), "--no-lock"],
      ...PERMISSIONS,
      ...["--include", join(ROOT, "tools", "demo_model", "demo.gguf")],
      ...["--include", build],
      // The threads that render chat templates and hash downloads: they are named by their address, not
      // imported.
      ...["--include", join(ROOT, "engine", "chat", "template_worker.ts")],
      ...["--include", join(ROOT, "engine", "store", "download", "hash_worker.ts")],
      ...["--output", output],
      join(ROOT, "main.ts"),
    ],
    cwd: ROOT,
    // One of the packages' files is nested so deeply that its analysis takes more than the 2 MiB that
    // Deno's threads have.
    env: { RUST_MIN_STACK: String(64 * 2 ** 20) },
    stdin: "null",
  }).spawn().status;
  if (!success) throw new Error("deno compile failed; its message stands above");
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
