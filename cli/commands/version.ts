import { ABI_VERSION, findBuild, type FoundLibrary } from "../../engine/device/mod.ts";
import { VERSION } from "../../server/version.ts";

/** What `tools/compile.ts` puts into the executable. */
const BUILD_FILE = new URL("../../dist/build.json", import.meta.url);

/** What `m40 --version --json` says: a release's version and commit, and what its parts were built with and for. */
export async function versionReport(): Promise<unknown> {
  return {
    version: VERSION,
    commit: await ownCommit(),
    abi: ABI_VERSION,
    platform: Deno.build.target,
    deno: Deno.version.deno,
    v8: Deno.version.v8,
    libraries: [findBuild("cpu"), findBuild("cuda")].map(asJson),
  };
}

/** The commit that the executable was built from; null in a checkout, or where the build did not say. */
async function ownCommit(): Promise<string | null> {
  if (!Deno.build.standalone) return null;
  const { commit } = JSON.parse(await Deno.readTextFile(BUILD_FILE));
  return commit;
}

function asJson({ backend, path, build, problem }: FoundLibrary): unknown {
  return {
    backend,
    path: path ?? null,
    problem: problem ?? null,
    abi: build?.abi ?? null,
    commit: build?.commit ?? null,
    compiler: build?.compiler ?? null,
    cuda_toolkit: build?.cudaToolkit ?? null,
    architectures: build?.architectures ?? [],
  };
}
