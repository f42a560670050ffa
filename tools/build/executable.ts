import { fromFileUrl, join } from "@std/path";
import { withLentCache } from "./lent_cache.ts";
import { type Lock, programImports, prunedLock } from "./packages.ts";

/**
 * What the executable may do. It reads models wherever they are, writes its cache and history where the user keeps such
 * things (which is not known here), listens where its options say, and opens kernel libraries. The environment is read
 * for its own settings and where the user keeps files, and for the variables that a file of MCP servers names. It
 * starts itself, for the device, and the configured MCP servers: where there are none it gives that permission up
 * (`cli/arguments/permissions.ts`). It prompts for nothing: what is not allowed fails.
 */
const PERMISSIONS = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-net",
  "--allow-env",
  "--allow-run",
  "--allow-ffi",
  // The free space of a disk, before a model is fetched, and the memory that is left, before some of it is reserved.
  "--allow-sys=statfs,systemMemoryInfo",
];

/** Threads' modules, which are named by their address and not imported: templates, grammars and tokens, hashes. */
const WORKERS = [
  "engine/chat/template_worker.ts",
  "engine/side_thread/worker.ts",
  "engine/store/download/hash_worker.ts",
];

/** What is in the executable in addition to its modules. */
const DATA = ["tools/demo_model/demo.gguf"];

/** What is compiled into an executable. */
export interface ExecutableOptions {
  /** The tree of the sources. */
  readonly root?: string;
  /** The commit that it says it was made of. */
  readonly commit?: string;
  /** Deno's cache; default: the user's own. A caller that names one has {@link cachePackages} fill it first. */
  readonly cache?: string;
  /** Without the list of what is embedded. */
  readonly quiet?: boolean;
}

const ROOT = fromFileUrl(new URL("../..", import.meta.url));

/**
 * Makes the executable, without kernel libraries. Its bytes depend on the sources, their times of modification and
 * those of the packages in the cache, on the runtime, and on nothing else.
 */
export async function compileExecutable(
  output: string,
  { root = ROOT, commit, cache, quiet }: ExecutableOptions = {},
): Promise<void> {
  const build = join(root, "dist", "build.json");
  const { options, lock } = await writeConfig(root);
  await Deno.writeTextFile(build, JSON.stringify({ commit: commit ?? null }));
  if (cache) await Deno.utime(build, new Date(0), new Date(0));
  const compile = (environment: Environment) =>
    deno(root, environment, [
      "compile",
      ...(quiet ? ["--quiet"] : []),
      "--no-check",
      ...options,
      "--cached-only",
      ...PERMISSIONS,
      ...[...DATA, "dist/build.json", ...WORKERS].flatMap((path) => ["--include", path]),
      ...["--output", output],
      "main.ts",
    ]);
  if (cache !== undefined) return await compile({ cache, settled: true });
  const install = (args: string[]) =>
    deno(root, {}, [...args, "--entrypoint", ...options, "main.ts"]);
  await withLentCache(install, lock, (cache) => compile({ cache }));
}

/** Puts the executable's packages into a cache. */
export async function cachePackages(cache: string, root: string): Promise<void> {
  const { options } = await writeConfig(root);
  const environment = { cache, settled: true };
  await deno(root, environment, ["install", "--entrypoint", ...options, "main.ts"]);
}

/** Writes a deno.json and a lock without the tests' packages; returns the options that name them, and the lock. */
async function writeConfig(root: string): Promise<{ options: string[]; lock: Lock }> {
  await Deno.mkdir(join(root, "dist"), { recursive: true });
  const { imports, compilerOptions, unstable } = await readJson(join(root, "deno.json"));
  delete compilerOptions.types;
  const kept = programImports(imports);
  const config = {
    nodeModulesDir: "none",
    // A release's list of packages wants all of the lock's, not those alone that are imported at once.
    unstable: unstable.filter((feature: string) => feature !== "npm-lazy-caching"),
    imports: kept,
    compilerOptions,
  };
  const lock = prunedLock(await readJson(join(root, "deno.lock")), kept);
  await Deno.writeTextFile(join(root, "dist", "compile.json"), JSON.stringify(config));
  await Deno.writeTextFile(join(root, "dist", "compile.lock"), JSON.stringify(lock));
  const options = ["--config", "dist/compile.json", "--lock", "dist/compile.lock", "--frozen"];
  return { options, lock };
}

async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(path));
}

/** What Deno runs with. */
interface Environment {
  /** Its cache; default: the user's own. */
  readonly cache?: string;
  /** Without the variables that would go into the executable. */
  readonly settled?: boolean;
}

async function deno(
  root: string,
  { cache, settled = false }: Environment,
  args: string[],
): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    // Variables of OpenTelemetry and of V8 go into the executable: a release has none of a shell's variables.
    clearEnv: settled,
    env: {
      ...(settled && environmentLess(/^(OTEL|DENO_V8)_/)),
      // One of the packages' files is nested so deeply that its analysis takes more than the 2 MiB that
      // Deno's threads have.
      RUST_MIN_STACK: String(64 * 2 ** 20),
      ...(cache && { DENO_DIR: cache }),
    },
    stdin: "null",
  }).spawn().status;
  if (!success) throw new Error(`deno ${args[0]} failed; its message stands above`);
}

/** This process's variables but for those whose names match. */
function environmentLess(names: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) => !names.test(name)),
  );
}
