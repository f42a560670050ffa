import { fromFileUrl, join } from "@std/path";
import { programImports, prunedLock } from "./packages.ts";

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

/** The threads that render chat templates and hash downloads: they are named by their address, not imported. */
const WORKERS = ["engine/chat/template_worker.ts", "engine/store/download/hash_worker.ts"];

/** What is in the executable beside its modules. */
const DATA = ["tools/demo_model/demo.gguf"];

/** What is compiled into an executable. */
export interface ExecutableOptions {
  /** The tree of the sources. */
  readonly root?: string;
  /** The commit that it says it was made of. */
  readonly commit?: string;
  /** Deno's cache; default: the user's own. Who names one has {@link cachePackages} fill it first. */
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
  const configured = await writeConfig(root);
  await Deno.writeTextFile(build, JSON.stringify({ commit: commit ?? null }));
  if (cache) await Deno.utime(build, new Date(0), new Date(0));
  await deno(root, cache, [
    "compile",
    ...(quiet ? ["--quiet"] : []),
    "--no-check",
    ...configured,
    ...(cache ? ["--cached-only"] : []),
    ...PERMISSIONS,
    ...[...DATA, "dist/build.json", ...WORKERS].flatMap((path) => ["--include", path]),
    ...["--output", output],
    "main.ts",
  ]);
}

/** Puts the executable's packages into a cache. */
export async function cachePackages(cache: string, root: string): Promise<void> {
  await deno(root, cache, ["install", "--entrypoint", ...await writeConfig(root), "main.ts"]);
}

/** Writes a deno.json and a lock without the tests' packages; returns the options that name them. */
async function writeConfig(root: string): Promise<string[]> {
  await Deno.mkdir(join(root, "dist"), { recursive: true });
  const { imports, compilerOptions, unstable } = await readJson(join(root, "deno.json"));
  delete compilerOptions.types;
  const kept = programImports(imports);
  const config = { nodeModulesDir: "none", unstable, imports: kept, compilerOptions };
  const lock = prunedLock(await readJson(join(root, "deno.lock")), kept);
  await Deno.writeTextFile(join(root, "dist", "compile.json"), JSON.stringify(config));
  await Deno.writeTextFile(join(root, "dist", "compile.lock"), JSON.stringify(lock));
  return ["--config", "dist/compile.json", "--lock", "dist/compile.lock", "--frozen"];
}

async function readJson(path: string) {
  return JSON.parse(await Deno.readTextFile(path));
}

async function deno(root: string, cache: string | undefined, args: string[]): Promise<void> {
  const { success } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: root,
    // Variables of OpenTelemetry and of V8 go into the executable: a release has those of nobody's shell.
    clearEnv: cache !== undefined,
    env: {
      ...(cache && environmentLess(/^(OTEL|DENO_V8)_/)),
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
