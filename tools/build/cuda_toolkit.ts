import { basename, dirname, join } from "@std/path";
import { BuildError } from "./build_error.ts";

/** A CUDA toolkit that still knows compute capability 5.2. */
export interface CudaToolkit {
  readonly nvcc: string;
  /** "11.8" */
  readonly version: string;
  /** A C++ compiler that this version of nvcc takes. */
  readonly hostCompiler: string;
  /**
   * All of the environment of nvcc's process: the toolkit's own programs come first on the PATH. It holds nothing else,
   * for it is in memory before the stack, whose addresses change what nvcc makes.
   */
  readonly environment: Record<string, string>;
}

/** The newest g++ that a version of nvcc takes, by the release it came with. */
const NEWEST_GCC: readonly (readonly [cuda: number, gcc: number])[] = [
  [11.0, 9],
  [11.1, 10],
  [11.5, 11],
  [12.1, 12],
  [12.4, 13],
  [12.8, 14],
];
const OLDEST_GCC = 7;

/**
 * Looks for nvcc in $CUDA_HOME, in Debian's place, under /usr/local and on the PATH, and takes the first of CUDA
 * 11 or 12.
 *
 * @param candidates Paths of nvcc, the first choice first.
 * @throws {BuildError} Where there is none, saying which were refused and why.
 */
export async function findCudaToolkit(
  candidates: readonly string[] = nvccCandidates(),
): Promise<CudaToolkit> {
  const refused: string[] = [];
  for (const nvcc of candidates) {
    const version = await releaseOf(nvcc);
    if (version === undefined) continue;
    const major = Number(version.split(".")[0]);
    if (major > 12) {
      refused.push(`${nvcc} is of CUDA ${version}, which no longer knows compute capability 5.2`);
      continue;
    }
    if (major < 11) {
      refused.push(`${nvcc} is of CUDA ${version}, which knows no C++17`);
      continue;
    }
    const folders = [...new Set([dirname(nvcc), dirname(await Deno.realPath(nvcc))])];
    const ptxas = folders.map((folder) => join(folder, "ptxas")).find(isFile);
    if (ptxas === undefined) {
      refused.push(`${nvcc} has no ptxas next to it`);
      continue;
    }
    const assembler = await releaseOf(ptxas);
    if (assembler !== version) {
      refused.push(
        `${nvcc} is of CUDA ${version}, but ${ptxas} next to it is of CUDA ${assembler}`,
      );
      continue;
    }
    const hostCompiler = await findHostCompiler(version);
    const path = [dirname(ptxas), ...folders, ...folderOf(hostCompiler), "/usr/bin", "/bin"];
    return {
      nvcc,
      version,
      hostCompiler,
      environment: { PATH: [...new Set(path)].join(":") },
    };
  }
  throw new BuildError(
    [
      "no nvcc of CUDA 11 or 12 was found (CUDA 13 and newer cannot build for the M40).",
      ...refused,
      "Install one (Debian: apt install nvidia-cuda-toolkit), or name its folder in CUDA_HOME.",
    ].join("\n"),
  );
}

/** Where nvcc is on this machine. */
function nvccCandidates(): string[] {
  const folders: string[] = [];
  const home = Deno.env.get("CUDA_HOME");
  if (home) folders.push(join(home, "bin"));
  // Debian's nvcc is a script in /usr/bin.
  if (isFile("/usr/lib/nvidia-cuda-toolkit/bin/nvcc")) folders.push("/usr/bin");
  folders.push("/usr/local/cuda/bin");
  try {
    const versions = [...Deno.readDirSync("/usr/local")].map(({ name }) => name);
    const named = versions.filter((name) => /^cuda-\d/.test(name)).sort().reverse();
    folders.push(...named.map((name) => join("/usr/local", name, "bin")));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  folders.push(...(Deno.env.get("PATH") ?? "").split(":").filter((folder) => folder !== ""));
  return [...new Set(folders.map((folder) => join(folder, "nvcc")).filter(isFile))];
}

/** "11.8" of a program of the toolkit, or undefined where it does not run. */
async function releaseOf(program: string): Promise<string | undefined> {
  try {
    const { stdout } = await new Deno.Command(program, { args: ["--version"], stderr: "null" })
      .output();
    return new TextDecoder().decode(stdout).match(/release (\d+\.\d+)/)?.[1];
  } catch {
    return undefined;
  }
}

async function findHostCompiler(version: string): Promise<string> {
  const asked = Deno.env.get("NVCC_CCBIN");
  if (asked) return asked;
  const release = Number(version);
  const newest = NEWEST_GCC.findLast(([cuda]) => release >= cuda)?.[1] ?? NEWEST_GCC[0][1];
  const found = await gccMajor("g++");
  if (found !== undefined && found <= newest) return "g++";
  for (let major = newest; major >= OLDEST_GCC; major--) {
    if (await gccMajor(`g++-${major}`) !== undefined) return `g++-${major}`;
  }
  throw new BuildError(
    `nvcc of CUDA ${version} takes g++ up to version ${newest}; ` +
      (found === undefined ? "there is no g++" : `g++ is of version ${found}`) +
      `. Install one (Debian: apt install g++-${newest}), or name one in NVCC_CCBIN.`,
  );
}

async function gccMajor(compiler: string): Promise<number | undefined> {
  try {
    const { stdout, success } = await new Deno.Command(compiler, {
      args: ["-dumpversion"],
      stderr: "null",
    }).output();
    return success ? parseInt(new TextDecoder().decode(stdout)) : undefined;
  } catch {
    return undefined;
  }
}

/** Where a program on the PATH is, but for compiler caches, which give what the compiler would. */
function folderOf(program: string): string[] {
  if (program.includes("/")) return [];
  const folders = (Deno.env.get("PATH") ?? "").split(":").filter((folder) =>
    folder !== "" && basename(folder) !== "ccache" && isFile(join(folder, program))
  );
  return folders.slice(0, 1);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
