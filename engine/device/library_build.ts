import { M40Error } from "../errors.ts";
import { type Backend, findLibrary } from "./library.ts";
import { SYMBOLS } from "./symbols.ts";

/** What a kernel library was built from and for. */
export interface LibraryBuild {
  /** The version of m40.h that it implements. */
  readonly abi: number;
  /** The commit that it was built from, of a release. */
  readonly commit?: string;
  /** What its C++ was compiled with, as the compiler calls itself. */
  readonly compiler: string;
  /** The version of the CUDA toolkit in it, such as "11.8"; absent where there is none. */
  readonly cudaToolkit?: string;
  /** What it has machine code (sm_52) and PTX (compute_52) for; for the CPU its vector units. */
  readonly architectures: readonly string[];
}

/** A backend's library, whether there is one, and what it says of itself or why it says nothing. */
export interface FoundLibrary {
  readonly backend: Backend;
  readonly path?: string;
  readonly build?: LibraryBuild;
  readonly problem?: string;
}

/** Looks for a backend's library and asks it what it is; touches no device, and fails for no library. */
export function findBuild(backend: Backend): FoundLibrary {
  let path: string | undefined;
  try {
    path = findLibrary(backend);
    if (path === undefined) return { backend, problem: "not found" };
    return { backend, path, build: readBuild(path) };
  } catch (error) {
    return { backend, path, problem: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * What the library at a path says of itself, of any ABI version from 10 on.
 *
 * @throws {M40Error} "unsupported" where what it says cannot be understood.
 */
function readBuild(path: string): LibraryBuild {
  const { m40_abi_version, m40_build_info } = SYMBOLS;
  const library = Deno.dlopen(path, { m40_abi_version, m40_build_info });
  try {
    const pointer = library.symbols.m40_build_info();
    const text = pointer === null ? "" : Deno.UnsafePointerView.getCString(pointer);
    return parseBuild(path, library.symbols.m40_abi_version(), text);
  } finally {
    library.close();
  }
}

function parseBuild(path: string, abi: number, text: string): LibraryBuild {
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    said = undefined;
  }
  const { commit, compiler, cuda_toolkit, architectures } = (said ?? {}) as Record<string, unknown>;
  if (
    typeof commit !== "string" || typeof compiler !== "string" ||
    typeof cuda_toolkit !== "string" || !Array.isArray(architectures) ||
    !architectures.every((name) => typeof name === "string")
  ) {
    throw new M40Error(
      "unsupported",
      `${path} does not say what it was built for: m40_build_info gives ${JSON.stringify(text)}, ` +
        "wanted JSON with commit, compiler, cuda_toolkit and architectures. " +
        "Use the library that came with this m40.",
    );
  }
  return {
    abi,
    commit: commit || undefined,
    compiler,
    cudaToolkit: cuda_toolkit || undefined,
    architectures,
  };
}
