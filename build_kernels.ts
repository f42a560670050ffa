/**
 * Builds the kernel libraries from cuda/ into dist/.
 *
 * `deno task build [--target cpu|cuda|emulated] [--debug] [--force] [--arch sm_61,...] [--this-processor]`
 *
 * cuda needs nvcc of CUDA 11 or 12; what it makes needs the NVIDIA driver alone. emulated is the same sources as a
 * C++ compiler builds them, for tests without a GPU.
 *
 * With --this-processor the CPU's library has the vector code that this processor runs, and what else is compiled
 * already: a quarter of the work. Without it, it runs on every processor.
 *
 * Only what changed is compiled: each object keeps the list of files that it came from (the compiler's
 * -MMD) and the command that made it. One compiler process runs a core.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { fromFileUrl, join, relative } from "@std/path";
import { BuildError } from "./tools/build/build_error.ts";
import { BUILD_INFO_HEADER, type BuildInfo, writeBuildInfo } from "./tools/build/build_info.ts";
import { bestInstructionSet, processorFeatures } from "./tools/build/instruction_sets.ts";
import { exists, isCurrent, readText } from "./tools/build/is_current.ts";
import {
  BUILD_INFO,
  flagsOf,
  type Recipe,
  recipeFor,
  type Target,
  TARGETS,
} from "./tools/build/recipe.ts";
import { writeStandardHeaders } from "./tools/build/standard_headers.ts";
import { BuildFolder } from "./tools/build/same_bytes.ts";

const ROOT = fromFileUrl(new URL(".", import.meta.url));

/** Compilers run in {@link ROOT}, or in a copy, and get paths from there: what they make does not depend on it. */
const DIST = "dist";

/** A build for one target. */
export interface BuildOptions {
  target: Target;
  /** Without optimisation, with the address and undefined-behaviour sanitizers. */
  debug?: boolean;
  /** Compile everything, whatever is there. */
  force?: boolean;
  /** cuda: other architectures to make machine code for, beside sm_52: "sm_61". */
  architectures?: readonly string[];
  /** cpu: leave out the vector code of other processors than this one, unless it is compiled already. */
  thisProcessor?: boolean;
  /** The commit that the library says it was built from: a release's. */
  commit?: string;
  /** Called with a line for each thing done. */
  log?: (line: string) => void;
}

/**
 * Builds one library.
 *
 * @returns Its absolute path, how many sources were compiled, and what it says of itself.
 * @throws {BuildError} Where there is no compiler, or with the compiler's own message.
 */
export async function buildKernels(
  options: BuildOptions,
): Promise<{ path: string; compiled: number; info: BuildInfo }> {
  const { target, debug = false, force = false, architectures = [], log = () => {} } = options;
  const recipe = await recipeFor(ROOT, target, debug, architectures);
  const name = debug ? `libm40_${target}_debug.so` : `libm40_${target}.so`;
  const path = join(DIST, name);
  const objectsFolder = join(DIST, "objects", debug ? `${target}_debug` : target);
  await Deno.mkdir(join(ROOT, objectsFolder), { recursive: true });

  const command = (args: readonly string[]) =>
    // The compiler's version is part of it, which may change where its name does not.
    [recipe.info.compiler, ...recipe.launcher ?? [], recipe.compiler, ...args].join(" ");
  const header = recipe.precompiles && writeStandardHeaders(ROOT, objectsFolder);
  const all = recipe.sources.map((source) => {
    const name = relative("cuda", source).replaceAll("/", "_");
    const object = join(objectsFolder, name + ".o");
    const args = [
      ...recipe.compileFlags,
      ...(source === BUILD_INFO ? [`-I${objectsFolder}`] : []),
      ...flagsOf(ROOT, source),
      ...(header && !recipe.instructionSetOf?.(source) ? ["-include", header] : []),
      ...["-MMD", "-MF", object + ".d"],
      ...recipe.languageFlags(source),
      ...(recipe.temporaryFlags?.(source, object + TEMPORARY) ?? []),
      ...["-c", source, "-o", object],
    ];
    return { source, object, args, command: command(args) };
  });
  const leftOut = options.thisProcessor
    ? all.filter((job) =>
      !isForThisProcessor(recipe, job.source) && !isCurrent(ROOT, job.object, job.command)
    )
    : [];
  const jobs = all.filter((job) => !leftOut.includes(job));
  const lacking = leftOut.map((job) => recipe.instructionSetOf?.(job.source));
  const info: BuildInfo = {
    commit: options.commit ?? "",
    ...recipe.info,
    architectures: recipe.info.architectures.filter((name) => !lacking.includes(name)),
  };
  await writeBuildInfo(join(ROOT, objectsFolder), info);

  const stale = jobs.filter((job) => force || !isCurrent(ROOT, job.object, job.command));
  if (header && stale.length > 0) {
    const object = header + ".gch";
    const args = [...recipe.compileFlags, "-MMD", "-MF", object + ".d"];
    args.push("-x", "c++-header", "-c", header, "-o", object);
    if (!isCurrent(ROOT, object, command(args))) {
      await run(recipe.compiler, args, ROOT, recipe.environment);
      await Deno.writeTextFile(join(ROOT, object + ".command"), command(args));
    }
  }
  await using copy = recipe.elsewhere && stale.length > 0
    ? await BuildFolder.make(ROOT, ["cuda", join(objectsFolder, BUILD_INFO_HEADER)])
    : undefined;
  const folder = copy?.path ?? ROOT;
  await inParallel(stale, async (job) => {
    log(`compile ${job.source}`);
    const temporary = join(folder, job.object + TEMPORARY);
    await Deno.mkdir(temporary, { recursive: true });
    try {
      const [program, ...args] = [...recipe.launcher ?? [], recipe.compiler, ...job.args];
      await run(program, args, folder, recipe.environment);
    } finally {
      await Deno.remove(temporary, { recursive: true });
    }
    for (const file of [job.object, job.object + ".d"]) await copy?.moveOut(ROOT, file);
    await Deno.writeTextFile(join(ROOT, job.object + ".command"), job.command);
  });

  const linkArgs = [...jobs.map((job) => job.object), ...recipe.linkFlags, "-o", path];
  const linkCommand = [recipe.compiler, ...linkArgs].join(" ");
  const linkRecord = join(ROOT, objectsFolder, "link.command");
  if (stale.length > 0 || !exists(join(ROOT, path)) || readText(linkRecord) !== linkCommand) {
    log(`link ${path}`);
    // A library that is open must not be written over: the new one takes its name in one move.
    const fresh = path + ".new";
    await run(recipe.compiler, [...linkArgs.slice(0, -1), fresh], ROOT, recipe.environment);
    await Deno.rename(join(ROOT, fresh), join(ROOT, path));
    await Deno.writeTextFile(linkRecord, linkCommand);
  }
  return { path: join(ROOT, path), compiled: stale.length, info };
}

/** Whether this processor runs what a source is for, which is no other one's vector code. */
function isForThisProcessor({ sources, instructionSetOf }: Recipe, source: string): boolean {
  const set = instructionSetOf?.(source);
  const features = processorFeatures();
  if (set === undefined || instructionSetOf === undefined || features === undefined) return true;
  const flags = (name: string) =>
    flagsOf(ROOT, sources.find((other) => instructionSetOf(other) === name)!);
  return set === bestInstructionSet(features, flags);
}

/** What the folder for the compiler's temporary files ends in, beside an object's own name. */
const TEMPORARY = ".tmp";

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env?: Record<string, string>,
): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    ...(env && { env, clearEnv: true }),
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

async function main(): Promise<number> {
  const args = parseArgs(Deno.args, {
    string: ["target", "arch"],
    boolean: ["debug", "force", "this-processor"],
    default: { target: "cpu" },
    unknown: (argument) => {
      throw new BuildError(
        `unknown argument ${argument}; wanted --target, --arch, --debug, --force or --this-processor`,
      );
    },
  });
  if (!TARGETS.includes(args.target)) {
    throw new BuildError(`unknown target ${args.target}; known: ${TARGETS.join(", ")}`);
  }
  if (args.arch && args.target !== "cuda") {
    throw new BuildError(`--arch ${args.arch} is for --target cuda; got --target ${args.target}`);
  }
  if (args["this-processor"] && args.target !== "cpu") {
    throw new BuildError(`--this-processor is for --target cpu; got --target ${args.target}`);
  }
  const { path, compiled } = await buildKernels({
    target: args.target,
    debug: args.debug,
    force: args.force,
    thisProcessor: args["this-processor"],
    architectures: args.arch ? args.arch.split(",") : [],
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
