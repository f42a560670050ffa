/**
 * How each kernel library is made: its sources, its compiler and that one's flags.
 *
 * @module
 */
import { extname, join } from "@std/path";
import { BuildError } from "./build_error.ts";
import { type BuildInfo, compilerVersion } from "./build_info.ts";
import { type CudaToolkit, findCudaToolkit } from "./cuda_toolkit.ts";
import { INSTRUCTION_SETS, instructionSetOf } from "./instruction_sets.ts";
import { sameAddresses, sameNames } from "./same_bytes.ts";

/** Folders whose sources every library has, and those of a GPU's library. */
const SHARED = ["cuda/common", "cuda/program", "cuda/process"];
const GPU = ["cuda/gpu", "cuda/gpu/persistent", "cuda/ops"];

export const TARGETS = ["cpu", "cuda", "emulated"] as const;
export type Target = typeof TARGETS[number];

/** How a target's library is made. */
export interface Recipe {
  /** What the compiler is started by, with its own name and arguments behind. */
  readonly launcher?: readonly string[];
  readonly compiler: string;
  readonly info: Omit<BuildInfo, "commit">;
  /** In the order in which they are compiled: the longest first, so that no core waits for the last one alone. */
  readonly sources: readonly string[];
  readonly compileFlags: readonly string[];
  /** Whether the compiler takes the standard library's headers precompiled, as GCC does, next to their own text. */
  readonly precompiles?: boolean;
  /** Flags of a source's language, before its name. */
  readonly languageFlags: (source: string) => readonly string[];
  /** Flags that say where a source's temporary files lie: in a folder of its own. */
  readonly temporaryFlags?: (source: string, folder: string) => readonly string[];
  readonly linkFlags: readonly string[];
  /** All of that of the compiler's process, where it is not this one's. */
  readonly environment?: Record<string, string>;
  /** Which one of info.architectures a source is for, where a library for one processor may do without it. */
  readonly instructionSetOf?: (source: string) => string | undefined;
  /** Whether sources are compiled in a {@link BuildFolder}. */
  readonly elsewhere?: boolean;
}

/**
 * The recipe for a target's library, its sources by their paths from the checkout's `root`.
 *
 * @throws {BuildError} Where there is no compiler.
 */
export async function recipeFor(
  root: string,
  target: Target,
  debug: boolean,
  architectures: readonly string[],
): Promise<Recipe> {
  const recipe =
    await (target === "cpu"
      ? cpuRecipe(root, debug)
      : target === "cuda"
      ? cudaRecipe(root, debug, architectures)
      : emulatedRecipe(root, debug));
  return { ...recipe, sources: longestFirst(recipe.sources) };
}

/** What takes long to compile, the longest first: kernels that are templates. */
const LONG: readonly RegExp[] = [
  /\/persistent\/family_.*\.cu$/,
  /\/attention/,
  /\/matmul.*_(k|blocks)\.cu$/,
  /\/matmul_/,
  /\/kernels_/,
  /\/(embed|sample)\.cu$/,
];

function longestFirst(sources: readonly string[]): string[] {
  const place = (source: string) => {
    const found = LONG.findIndex((pattern) => pattern.test(source));
    return found < 0 ? LONG.length : found;
  };
  return [...sources].sort((a, b) => place(a) - place(b));
}

/** The one source that includes what {@link writeBuildInfo} writes. */
export const BUILD_INFO = "cuda/common/build_info.cpp";

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

/** Sources without kernels: as C++ they do not go through the compiler of kernels, which takes most of their time. */
const HOST_CODE = /^cuda\/gpu\/[^/]+\.cu$/;

/** What CUDA's runtime was in need of before glibc 2.34. */
const OLD_LIBRARIES = ["libdl.so.2", "libpthread.so.0", "librt.so.1"];

async function cpuRecipe(root: string, debug: boolean): Promise<Recipe> {
  const compiler = await findCompiler();
  const version = await compilerVersion(compiler);
  return {
    compiler,
    precompiles: isGcc(version),
    info: {
      compiler: version,
      cuda_toolkit: "",
      architectures: INSTRUCTION_SETS.toReversed(),
    },
    sources: [...SHARED, "cuda/cpu"].flatMap((folder) => sourcesIn(root, folder, ".cpp")),
    instructionSetOf,
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
async function emulatedRecipe(root: string, debug: boolean): Promise<Recipe> {
  const folders = [...SHARED, ...GPU, "cuda/emulation"];
  const compiler = await findCompiler();
  const version = await compilerVersion(compiler);
  return {
    compiler,
    precompiles: isGcc(version),
    info: {
      compiler: version,
      cuda_toolkit: "",
      architectures: ["native"],
    },
    sources: [
      ...folders.flatMap((folder) => sourcesIn(root, folder, ".cpp")),
      ...folders.flatMap((folder) => sourcesIn(root, folder, ".cu")),
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

async function cudaRecipe(
  root: string,
  debug: boolean,
  architectures: readonly string[],
): Promise<Recipe> {
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
      ...SHARED.flatMap((folder) => sourcesIn(root, folder, ".cpp")),
      ...[...SHARED, ...GPU].flatMap((folder) => sourcesIn(root, folder, ".cu")),
    ],
    compileFlags: [
      ...["-ccbin", toolkit.hostCompiler, "-std=c++17", "-Icuda", ...targets],
      ...(debug ? ["-O1", "-lineinfo", "-Xcompiler", "-g"] : ["-O3"]),
      ...["-Xcompiler", host.join(",")],
    ],
    languageFlags: (source) => HOST_CODE.test(source) ? ["-x", "c++"] : [],
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
function sourcesIn(root: string, folder: string, extension: string): string[] {
  return [...Deno.readDirSync(join(root, folder))]
    .filter((entry) => entry.isFile && extname(entry.name) === extension)
    .map((entry) => join(folder, entry.name))
    .sort();
}

/** Flags that a source asks for in its first line: `// flags: -mavx2 -mfma`. */
export function flagsOf(root: string, source: string): string[] {
  const [first] = Deno.readTextFileSync(join(root, source)).split("\n", 1);
  const flags = first.match(/^\/\/ flags: (.+)$/);
  if (flags === null || Deno.build.arch !== "x86_64") return [];
  return flags[1].trim().split(/\s+/);
}

/** Whether a compiler is GCC, by what it calls itself: "g++ (Debian 12.2.0-14) 12.2.0". */
function isGcc(version: string): boolean {
  return /^\S*(g\+\+|gcc)/.test(version) && !/clang/.test(version);
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
