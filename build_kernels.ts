/**
 * Builds the kernel libraries from cuda/ into dist/.
 *
 * `deno task build [--target cpu|cuda|emulated] [--debug] [--force]`
 *
 * Only what changed is compiled: each object keeps the list of files that it came from (the compiler's
 * -MMD) and the command that made it. One compiler process runs a core.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { basename, fromFileUrl, join, relative } from "@std/path";

const ROOT = fromFileUrl(new URL(".", import.meta.url));
const DIST = join(ROOT, "dist");

const TARGETS = ["cpu", "cuda", "emulated"] as const;
type Target = typeof TARGETS[number];

/** A failure whose message is for the person who builds. */
class BuildError extends Error {}

/** How a target's library is made. */
interface Recipe {
  readonly compiler: string;
  readonly sources: readonly string[];
  readonly compileFlags: readonly string[];
  readonly linkFlags: readonly string[];
}

/** A build for one target. */
export interface BuildOptions {
  target: Target;
  /** Without optimisation, with the address and undefined-behaviour sanitizers. */
  debug?: boolean;
  /** Compile everything, whatever is there. */
  force?: boolean;
  /** Called with a line for each thing done. */
  log?: (line: string) => void;
}

/**
 * Builds one library.
 *
 * @returns Its path and how many sources were compiled.
 * @throws {BuildError} Where there is no compiler, or with the compiler's own message.
 */
export async function buildKernels(
  options: BuildOptions,
): Promise<{ path: string; compiled: number }> {
  const { target, debug = false, force = false, log = () => {} } = options;
  const recipe = await recipeFor(target, debug);
  const name = debug ? `libm40_${target}_debug.so` : `libm40_${target}.so`;
  const path = join(DIST, name);
  const objectsFolder = join(DIST, "objects", debug ? `${target}_debug` : target);
  await Deno.mkdir(objectsFolder, { recursive: true });

  const jobs = recipe.sources.map((source) => {
    const object = join(objectsFolder, basename(source).replace(/\.\w+$/, ".o"));
    const args = [
      ...recipe.compileFlags,
      ...flagsOf(source),
      ...["-MMD", "-MF", object + ".d"],
      ...["-c", source, "-o", object],
    ];
    return { source, object, args, command: [recipe.compiler, ...args].join(" ") };
  });
  const stale = jobs.filter((job) => force || !isCurrent(job.object, job.command));
  await inParallel(stale, async (job) => {
    log(`compile ${relative(ROOT, job.source)}`);
    await run(recipe.compiler, job.args);
    await Deno.writeTextFile(job.object + ".command", job.command);
  });

  const linkArgs = [...jobs.map((job) => job.object), ...recipe.linkFlags, "-o", path];
  const linkCommand = [recipe.compiler, ...linkArgs].join(" ");
  const linkRecord = join(objectsFolder, "link.command");
  if (stale.length > 0 || !exists(path) || readText(linkRecord) !== linkCommand) {
    log(`link ${relative(ROOT, path)}`);
    // A library that is open must not be written over: the new one takes its name in one move.
    const fresh = path + ".new";
    await run(recipe.compiler, [...linkArgs.slice(0, -1), fresh]);
    await Deno.rename(fresh, path);
    await Deno.writeTextFile(linkRecord, linkCommand);
  }
  return { path, compiled: stale.length };
}

async function recipeFor(target: Target, debug: boolean): Promise<Recipe> {
  if (target !== "cpu") {
    throw new BuildError(`target ${target} has no sources in this version; what can be built: cpu`);
  }
  return {
    compiler: await findCompiler(),
    sources: [...sourcesIn("cuda/runtime"), ...sourcesIn("cuda/reference")],
    compileFlags: [
      ...["-std=c++17", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread"],
      // Results must not depend on which multiplications a compiler chooses to fuse.
      "-ffp-contract=off",
      `-I${join(ROOT, "cuda")}`,
      ...(debug
        ? ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        : ["-O3"]),
    ],
    linkFlags: [
      ...["-shared", "-static-libstdc++", "-shared-libgcc", "-Wl,--exclude-libs,ALL"],
      // cuda/runtime/portability.cpp says what the sections have to do with old systems.
      ...["-Wl,--gc-sections", "-Wl,--no-undefined"],
      ...["-pthread", "-lm"],
      ...(debug ? ["-fsanitize=address,undefined", "-Wl,-z,undefs"] : ["-Wl,-s"]),
    ],
  };
}

/** The C++ sources of a folder, in the order of their names. */
function sourcesIn(folder: string): string[] {
  const path = join(ROOT, folder);
  return [...Deno.readDirSync(path)]
    .filter((entry) => entry.isFile && entry.name.endsWith(".cpp"))
    .map((entry) => join(path, entry.name))
    .sort();
}

/** Flags that a source asks for in its first line: `// flags: -mavx2 -mfma`. */
function flagsOf(source: string): string[] {
  const [first] = Deno.readTextFileSync(source).split("\n", 1);
  const flags = first.match(/^\/\/ flags: (.+)$/);
  if (flags === null || Deno.build.arch !== "x86_64") return [];
  return flags[1].trim().split(/\s+/);
}

async function findCompiler(): Promise<string> {
  const asked = Deno.env.get("CXX");
  const candidates = asked ? [asked] : ["g++", "clang++", "c++"];
  for (const compiler of candidates) {
    try {
      const { success } = await new Deno.Command(compiler, {
        args: ["--version"],
        stdout: "null",
        stderr: "null",
      }).output();
      if (success) return compiler;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  throw new BuildError(
    `no C++ compiler was found; tried ${candidates.join(", ")}. Install g++ or clang++ ` +
      `(Debian: apt install g++), or name one in CXX.`,
  );
}

/** Whether an object is newer than all that it was made from, and was made by this command. */
function isCurrent(object: string, command: string): boolean {
  if (readText(object + ".command") !== command) return false;
  const made = modified(object);
  const dependencies = readText(object + ".d");
  if (made === undefined || dependencies === undefined) return false;
  const files = dependencies.replace(/^[^:]*:/, "").replaceAll("\\\n", " ").split(/\s+/);
  return files.filter((file) => file !== "").every((file) => {
    const changed = modified(file);
    return changed !== undefined && changed <= made;
  });
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdout: "null",
    stderr: "piped",
  }).output();
  const message = new TextDecoder().decode(stderr).trim();
  if (!success) throw new BuildError(`${command} failed:\n${message}`);
  if (message !== "") console.error(message);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
}

function readText(path: string): string | undefined {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return undefined;
  }
}

function exists(path: string): boolean {
  return modified(path) !== undefined;
}

function modified(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime();
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const args = parseArgs(Deno.args, {
    string: ["target"],
    boolean: ["debug", "force"],
    default: { target: "cpu" },
    unknown: (argument) => {
      throw new BuildError(`unknown argument ${argument}; wanted --target, --debug or --force`);
    },
  });
  if (!TARGETS.includes(args.target)) {
    throw new BuildError(`unknown target ${args.target}; known: ${TARGETS.join(", ")}`);
  }
  const { path, compiled } = await buildKernels({
    target: args.target,
    debug: args.debug,
    force: args.force,
    log: console.log,
  });
  console.log(`${relative(Deno.cwd(), path)} ${compiled === 0 ? "is up to date" : "is built"}`);
  return 0;
}

if (import.meta.main) {
  try {
    Deno.exit(await main());
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(error.message);
    Deno.exit(1);
  }
}
