/**
 * Builds the kernel libraries from cuda/ into dist/.
 *
 * `deno task build [--target cpu|cuda|emulated] [--debug] [--force] [--arch sm_61,...]`
 *
 * cuda needs nvcc of CUDA 11 or 12; what it makes needs the NVIDIA driver alone. emulated is the same sources as a
 * C++ compiler builds them, for tests without a GPU.
 *
 * Only what changed is compiled: each object keeps the list of files that it came from (the compiler's
 * -MMD) and the command that made it. One compiler process runs a core.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { extname, fromFileUrl, join, relative } from "@std/path";
import { BuildError } from "./tools/build/build_error.ts";
import {
  BUILD_INFO_HEADER,
  type BuildInfo,
  compilerVersion,
  writeBuildInfo,
} from "./tools/build/build_info.ts";
import { type CudaToolkit, findCudaToolkit } from "./tools/build/cuda_toolkit.ts";
import { exists, isCurrent, readText } from "./tools/build/is_current.ts";
import { BuildFolder, sameAddresses, sameNames } from "./tools/build/same_bytes.ts";

const ROOT = fromFileUrl(new URL(".", import.meta.url));

/** Compilers run in {@link ROOT}, or in a copy, and are told paths from there: what they make does not depend on it. */
const DIST = "dist";

/** Folders whose sources every library has, and those of a GPU's library. */
const SHARED = ["cuda/common", "cuda/program", "cuda/process"];
const GPU = ["cuda/gpu", "cuda/gpu/persistent", "cuda/ops"];

const TARGETS = ["cpu", "cuda", "emulated"] as const;
type Target = typeof TARGETS[number];

/** How a target's library is made. */
interface Recipe {
  /** What the compiler is started by, with its own name and arguments behind. */
  readonly launcher?: readonly string[];
  readonly compiler: string;
  readonly info: Omit<BuildInfo, "commit">;
  readonly sources: readonly string[];
  readonly compileFlags: readonly string[];
  /** Flags of a source's language, before its name. */
  readonly languageFlags: (source: string) => readonly string[];
  /** Flags that say where a source's temporary files lie: in a folder of its own. */
  readonly temporaryFlags?: (source: string, folder: string) => readonly string[];
  readonly linkFlags: readonly string[];
  /** All of that of the compiler's process, where it is not this one's. */
  readonly environment?: Record<string, string>;
  /** Whether sources are compiled in a {@link BuildFolder}. */
  readonly elsewhere?: boolean;
}

/** A build for one target. */
export interface BuildOptions {
  target: Target;
  /** Without optimisation, with the address and undefined-behaviour sanitizers. */
  debug?: boolean;
  /** Compile everything, whatever is there. */
  force?: boolean;
  /** cuda: other architectures to make machine code for, beside sm_52: "sm_61". */
  architectures?: readonly string[];
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
  const recipe = await recipeFor(target, debug, architectures);
  const name = debug ? `libm40_${target}_debug.so` : `libm40_${target}.so`;
  const path = join(DIST, name);
  const objectsFolder = join(DIST, "objects", debug ? `${target}_debug` : target);
  await Deno.mkdir(join(ROOT, objectsFolder), { recursive: true });
  const info: BuildInfo = { commit: options.commit ?? "", ...recipe.info };
  await writeBuildInfo(join(ROOT, objectsFolder), info);

  const jobs = recipe.sources.map((source) => {
    const name = relative("cuda", source).replaceAll("/", "_");
    const object = join(objectsFolder, name + ".o");
    const args = [
      ...recipe.compileFlags,
      ...(source === BUILD_INFO ? [`-I${objectsFolder}`] : []),
      ...flagsOf(source),
      ...["-MMD", "-MF", object + ".d"],
      ...recipe.languageFlags(source),
      ...(recipe.temporaryFlags?.(source, object + TEMPORARY) ?? []),
      ...["-c", source, "-o", object],
    ];
    // The compiler's version is part of it, which may change where its name does not.
    const command = [recipe.info.compiler, ...recipe.launcher ?? [], recipe.compiler, ...args].join(
      " ",
    );
    return { source, object, args, command };
  });
  const stale = jobs.filter((job) => force || !isCurrent(ROOT, job.object, job.command));
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
    for (const file of [job.object, job.object + ".d"]) await copy?.handOver(ROOT, file);
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

function recipeFor(
  target: Target,
  debug: boolean,
  architectures: readonly string[],
): Promise<Recipe> {
  switch (target) {
    case "cpu":
      return cpuRecipe(debug);
    case "cuda":
      return cudaRecipe(debug, architectures);
    case "emulated":
      return emulatedRecipe(debug);
  }
}

/** What the folder for the compiler's temporary files ends in, beside an object's own name. */
const TEMPORARY = ".tmp";

/** The one source that includes what {@link writeBuildInfo} writes. */
const BUILD_INFO = "cuda/common/build_info.cpp";

const SANITIZE = "-fsanitize=address,undefined";

/** What every C++ source of a library is compiled with. */
const CXX_FLAGS = [
  ...["-std=c++17", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-pthread"],
  // Results must not depend on which multiplications a compiler chooses to fuse.
  "-ffp-contract=off",
  "-Icuda",
];

/** cuda/common/portability.cpp says what these have to do with old systems. */
const PORTABLE_LINK_FLAGS = ["-static-libstdc++", "-shared-libgcc"];
const PORTABLE_LINKER_FLAGS = ["--exclude-libs,ALL", "--gc-sections", "--no-undefined"];

/** What CUDA's runtime was in need of before glibc 2.34. */
const OLD_LIBRARIES = ["libdl.so.2", "libpthread.so.0", "librt.so.1"];

async function cpuRecipe(debug: boolean): Promise<Recipe> {
  const compiler = await findCompiler();
  return {
    compiler,
    info: {
      compiler: await compilerVersion(compiler),
      cuda_toolkit: "",
      architectures: ["baseline", "avx", "avx2", "avx512"],
    },
    sources: [...SHARED, "cuda/cpu"].flatMap((folder) => sourcesIn(folder, ".cpp")),
    compileFlags: [
      ...CXX_FLAGS,
      ...(debug ? ["-O1", "-g", SANITIZE, "-fno-sanitize-recover=undefined"] : ["-O3"]),
    ],
    languageFlags: () => [],
    linkFlags: [
      ...["-shared", ...PORTABLE_LINK_FLAGS, ...PORTABLE_LINKER_FLAGS.map((flag) => "-Wl," + flag)],
      ...["-pthread", "-lm"],
      ...(debug ? [SANITIZE, "-Wl,-z,undefs"] : ["-Wl,-s"]),
    ],
  };
}

/** Built where it is used, for this processor alone. */
async function emulatedRecipe(debug: boolean): Promise<Recipe> {
  const folders = [...SHARED, ...GPU, "cuda/emulation"];
  const compiler = await findCompiler();
  return {
    compiler,
    info: {
      compiler: await compilerVersion(compiler),
      cuda_toolkit: "",
      architectures: ["native"],
    },
    sources: [
      ...folders.flatMap((folder) => sourcesIn(folder, ".cpp")),
      ...folders.flatMap((folder) => sourcesIn(folder, ".cu")),
    ],
    compileFlags: [
      ...[...CXX_FLAGS, "-DM40_EMULATED", "-Wno-unknown-pragmas", "-march=native", "-g1"],
      // To build it with -O2 would take longer than its tests then save.
      ...["-O1", ...(debug ? [SANITIZE, "-fno-sanitize-recover=undefined"] : [])],
    ],
    languageFlags: (source) => [
      ...["-x", "c++"],
      ...(debug && extname(source) === ".cu" ? kernelSanitizerFlags(compiler) : []),
    ],
    linkFlags: [
      ...["-shared", "-Wl,--exclude-libs,ALL", "-pthread", "-lm"],
      ...(debug ? [SANITIZE] : ["-Wl,--no-undefined"]),
    ],
  };
}

/**
 * What makes the sanitized kernels, of which there are thousands, compile in two fifths of the time. Of what is left
 * out, reads and writes by wrong pointers are the address sanitizer's to find, and nothing in a kernel is virtual. Its
 * checks are calls, not inline, which makes the tests no slower.
 */
function kernelSanitizerFlags(compiler: string): string[] {
  return [
    "-fno-sanitize=null,object-size,pointer-overflow,vptr",
    ...(/clang/.test(compiler) ? [] : ["--param", "asan-instrumentation-with-call-threshold=0"]),
  ];
}

async function cudaRecipe(debug: boolean, architectures: readonly string[]): Promise<Recipe> {
  const toolkit: CudaToolkit = await findCudaToolkit();
  const numbers = [...new Set(["52", ...architectures.map(architectureNumber)])];
  const targets = [
    ...numbers.map((n) => `-gencode=arch=compute_${n},code=sm_${n}`),
    "-gencode=arch=compute_52,code=compute_52",
  ];
  const host = [...CXX_FLAGS.filter((flag) => !/^-(std|I)/.test(flag)), "-Wno-unknown-pragmas"];
  return {
    launcher: await sameAddresses(),
    compiler: toolkit.nvcc,
    info: {
      compiler: await compilerVersion(toolkit.hostCompiler),
      cuda_toolkit: toolkit.version,
      architectures: [...numbers.map((n) => `sm_${n}`), "compute_52"],
    },
    environment: toolkit.environment,
    elsewhere: true,
    sources: [
      ...SHARED.flatMap((folder) => sourcesIn(folder, ".cpp")),
      ...[...SHARED, ...GPU].flatMap((folder) => sourcesIn(folder, ".cu")),
    ],
    compileFlags: [
      ...["-ccbin", toolkit.hostCompiler, "-std=c++17", "-Icuda", ...targets],
      ...(debug ? ["-O1", "-lineinfo", "-Xcompiler", "-g"] : ["-O3"]),
      ...["-Xcompiler", host.join(",")],
    ],
    languageFlags: () => [],
    temporaryFlags: (source, folder) => extname(source) === ".cu" ? sameNames(source, folder) : [],
    linkFlags: [
      ...["-ccbin", toolkit.hostCompiler, "-shared", "-cudart", "static", ...targets],
      ...["-Xcompiler", PORTABLE_LINK_FLAGS.join(",")],
      ...PORTABLE_LINKER_FLAGS.flatMap((flag) => ["-Xlinker", flag]),
      // cuda/gpu/old_glibc.cu says why.
      ...["-Xlinker", "--no-as-needed", ...OLD_LIBRARIES.map((name) => "-l:" + name)],
      ...(debug ? [] : ["-Xlinker", "-s"]),
    ],
  };
}

/** "61" of "sm_61". */
function architectureNumber(name: string): string {
  const match = name.match(/^sm_(\d+)$/);
  if (match === null || Number(match[1]) < 52) {
    throw new BuildError(`unknown architecture ${name}; wanted sm_52 or newer, as in --arch sm_61`);
  }
  return match[1];
}

/** The sources of a folder, by their paths from the root, in the order of their names. */
function sourcesIn(folder: string, extension: string): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))]
    .filter((entry) => entry.isFile && extname(entry.name) === extension)
    .map((entry) => join(folder, entry.name))
    .sort();
}

/** Flags that a source asks for in its first line: `// flags: -mavx2 -mfma`. */
function flagsOf(source: string): string[] {
  const [first] = Deno.readTextFileSync(join(ROOT, source)).split("\n", 1);
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
    boolean: ["debug", "force"],
    default: { target: "cpu" },
    unknown: (argument) => {
      throw new BuildError(
        `unknown argument ${argument}; wanted --target, --arch, --debug or --force`,
      );
    },
  });
  if (!TARGETS.includes(args.target)) {
    throw new BuildError(`unknown target ${args.target}; known: ${TARGETS.join(", ")}`);
  }
  if (args.arch && args.target !== "cuda") {
    throw new BuildError(`--arch ${args.arch} is for --target cuda; got --target ${args.target}`);
  }
  const { path, compiled } = await buildKernels({
    target: args.target,
    debug: args.debug,
    force: args.force,
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
