/**
 * What a kernel library says of itself by m40_build_info.
 *
 * @module
 */
import { join } from "@std/path";
import { BuildError } from "./build_error.ts";

/** What a library was built from and for; `cuda/include/m40.h` says what the fields mean. */
export interface BuildInfo {
  /** A commit's 40 hexadecimal digits, of a release; else empty. */
  readonly commit: string;
  /** What its C++ was compiled with, as the compiler calls itself. */
  readonly compiler: string;
  /** "11.8"; empty where there is none in it. */
  readonly cuda_toolkit: string;
  readonly architectures: readonly string[];
}

/** The header that cuda/common/build_info.cpp includes. */
export const BUILD_INFO_HEADER = "build_info_json.h";

/** Writes the header into a folder, unless it is there already: its age decides what is compiled. */
export async function writeBuildInfo(folder: string, info: BuildInfo): Promise<void> {
  const json = JSON.stringify(info);
  // A JSON text of ASCII is a C string as well, once it is quoted as one more time.
  const text = `#define M40_BUILD_INFO_JSON ${JSON.stringify(json)}\n`;
  const path = join(folder, BUILD_INFO_HEADER);
  if (await readIfThere(path) !== text) await Deno.writeTextFile(path, text);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * What a compiler calls itself: the first line of its `--version`, in ASCII.
 *
 * @throws {BuildError} Where it cannot be run.
 */
export async function compilerVersion(compiler: string): Promise<string> {
  try {
    const { success, stdout } = await new Deno.Command(compiler, {
      args: ["--version"],
      env: { LC_ALL: "C" },
      stderr: "null",
    }).output();
    const [line] = new TextDecoder().decode(stdout).split("\n", 1);
    if (success && line !== "") return line.replace(/[^\x20-\x7e]/g, "?");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  throw new BuildError(`${compiler} --version does not say what it is; name another in CXX`);
}
