/**
 * Makes a release of the commit that is checked out: `dist/release/m40-VERSION-linux-x86_64.tar.gz`, and next to it its
 * bill of materials, install.sh and the sums of all three. The same commit, tools and runtime give the same bytes.
 *
 * `deno task release [--without-cuda | --both]`: one archive with CUDA, one without, or both, which share their sums.
 *
 * Set DENORT_BIN to use a runtime that is already there instead of downloading it.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { basename, fromFileUrl, join } from "@std/path";
import { buildKernels } from "../build_kernels.ts";
import { SHELLS } from "../cli/commands/completion.ts";
import { describeCommands } from "../cli/completion/described.ts";
import { COMMANDS } from "../cli/commands/mod.ts";
import { VERSION } from "../server/version.ts";
import type { BuildInfo } from "./build/build_info.ts";
import { cachePackages, compileExecutable } from "./build/executable.ts";
import { manualPages } from "./manual/pages.ts";
import { checksums, filesBelow, pack, setTimes, sha256 } from "./release/archive.ts";
import { writeLicences } from "./release/licences.ts";
import { packagesOf } from "./release/packages.ts";
import { run } from "./release/run.ts";
import { billOfMaterials } from "./release/sbom.ts";

const ROOT = fromFileUrl(new URL("..", import.meta.url));
const OUTPUT = join(ROOT, "dist", "release");

/** What is put into the archive as it is in the repository, and where. */
const COPIED: Readonly<Record<string, string>> = {
  "LICENSE": "LICENSE",
  "CHANGELOG.md": "CHANGELOG.md",
  "docs/install.md": "INSTALL.md",
  "deploy/install/install.sh": "install.sh",
  "deploy/install/m40.service": "m40.service",
  "deploy/install/m40.toml": "m40.toml",
};

const EXECUTABLES: readonly string[] = ["m40", "install.sh"];

/** What a release is made of. */
interface Commit {
  readonly id: string;
  /** Seconds since 1970. */
  readonly time: number;
}

/** The commit that is checked out, with nothing changed since. */
async function checkedOut(): Promise<Commit> {
  const changed = (await run("git", ["status", "--porcelain"], { cwd: ROOT })).trim();
  if (changed !== "") {
    throw new Error(
      `a release is made of a commit, and these files differ from it; commit or remove them:\n${changed}`,
    );
  }
  const [id, time] = (await run("git", ["log", "-1", "--format=%H %ct"], { cwd: ROOT })).split(" ");
  return { id, time: Number(time) };
}

/**
 * Makes a release's archives.
 *
 * @param variants for each archive, whether it holds the CUDA library
 * @returns the paths of the archives
 * @throws {Error} where files differ from the commit, or a compiler is missing
 */
async function release(variants: readonly boolean[]): Promise<string[]> {
  const commit = await checkedOut();
  const archives: string[] = [];
  const published: string[] = [];
  for (const withCuda of variants) {
    const { archive, bill } = await makeArchive(commit, withCuda);
    archives.push(archive);
    published.push(basename(archive), basename(bill));
  }
  await Deno.copyFile(
    join(OUTPUT, "source", "deploy/install/install.sh"),
    join(OUTPUT, "install.sh"),
  );
  const sums = await checksums(OUTPUT, [...published, "install.sh"]);
  await Deno.writeTextFile(join(OUTPUT, "SHA256SUMS"), sums);
  return archives;
}

/** Makes one archive; returns its path, and that of its bill of materials next to it. */
async function makeArchive(
  commit: Commit,
  withCuda: boolean,
): Promise<{ archive: string; bill: string }> {
  const name = `m40-${VERSION}-linux-x86_64${withCuda ? "" : "-cpu"}`;
  const folder = join(OUTPUT, name);
  for (const path of [folder, join(OUTPUT, "source")]) await removeAll(path);
  await Deno.mkdir(folder, { recursive: true });

  const libraries: Record<string, BuildInfo> = {};
  for (const target of withCuda ? ["cpu", "cuda"] as const : ["cpu"] as const) {
    const built = await buildKernels({ target, commit: commit.id, log: console.log });
    await Deno.copyFile(built.path, join(folder, basename(built.path)));
    libraries[basename(built.path)] = built.info;
  }
  console.log("compile m40");
  const source = await sourcesOf(commit);
  const cache = join(OUTPUT, "deno");
  await cachePackages(cache, source);
  await withSettledCache(cache, (settled) =>
    compileExecutable(join(folder, "m40"), {
      root: source,
      commit: commit.id,
      cache: settled,
      quiet: true,
    }));

  const lock = JSON.parse(await Deno.readTextFile(join(source, "dist", "compile.lock")));
  const packages = await packagesOf(lock, cache);
  const files = ["m40", ...Object.keys(libraries)];
  const bill = await billOfMaterials({
    version: VERSION,
    commit: commit.id,
    time: commit.time,
    files: await Promise.all(
      files.map(async (name) => ({ name, sha256: await sha256(join(folder, name)) })),
    ),
    packages,
    lock,
    deno: { version: Deno.version.deno, v8: Deno.version.v8 },
    libraries,
  });
  const billText = JSON.stringify(bill, null, 2) + "\n";
  await Deno.writeTextFile(join(folder, "sbom.cdx.json"), billText);
  await writeLicences(join(folder, "licences"), packages, withCuda);
  await writeShellFiles(folder);
  for (const [from, to] of Object.entries(COPIED)) {
    await Deno.copyFile(join(source, from), join(folder, to));
  }
  for (const file of await filesBelow(folder)) {
    await Deno.chmod(join(folder, file), EXECUTABLES.includes(file) ? 0o755 : 0o644);
  }
  const listed = await filesBelow(folder);
  await Deno.writeTextFile(join(folder, "SHA256SUMS"), await checksums(folder, listed));

  const archive = join(OUTPUT, `${name}.tar.gz`);
  await pack(folder, archive, commit.time);
  const billPath = join(OUTPUT, `${name}.cdx.json`);
  await Deno.writeTextFile(billPath, billText);
  return { archive, bill: billPath };
}

/** The tree of a commit, every file of which has the commit's time; returns its folder. */
async function sourcesOf({ id }: Commit): Promise<string> {
  const source = join(OUTPUT, "source");
  await Deno.mkdir(source);
  const packed = join(OUTPUT, "source.tar");
  await run("git", ["archive", "--format=tar", "--output", packed, id], { cwd: ROOT });
  await run("tar", ["--extract", "--file", packed, "--directory", source]);
  await Deno.remove(packed);
  return source;
}

/**
 * Where Deno's cache lies while an executable is compiled: its path goes into the executable, in what Deno notes of
 * files that are no JavaScript, and so do the files' times.
 */
const SETTLED_CACHE = "/tmp/m40-release-cache";

/** Lends the packages of a cache in a place, with times and without notes of earlier runs, that are always the same. */
async function withSettledCache(
  cache: string,
  work: (settled: string) => Promise<void>,
): Promise<void> {
  try {
    // No other user may write there, nor have done so.
    await Deno.mkdir(SETTLED_CACHE, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Error(
      `${SETTLED_CACHE} is there: another release is being made, or one was interrupted; then remove it`,
    );
  }
  try {
    await run("cp", ["-R", join(cache, "npm"), SETTLED_CACHE]);
    await setTimes(SETTLED_CACHE, 0);
    await work(SETTLED_CACHE);
  } finally {
    await removeAll(SETTLED_CACHE);
  }
}

/** The pages of the manual and what shells complete by, out of the commands' descriptions. */
async function writeShellFiles(folder: string): Promise<void> {
  await Deno.mkdir(join(folder, "man"));
  for (const [name, text] of manualPages(COMMANDS, VERSION)) {
    await Deno.writeTextFile(join(folder, "man", name), text);
  }
  await Deno.mkdir(join(folder, "completions"));
  const described = await describeCommands(COMMANDS);
  for (const [shell, write] of SHELLS) {
    await Deno.writeTextFile(join(folder, "completions", `m40.${shell}`), write(described));
  }
}

async function removeAll(path: string): Promise<void> {
  try {
    await Deno.remove(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, {
    boolean: ["without-cuda", "both"],
    unknown: (argument) => {
      throw new Error(`unknown argument ${argument}; wanted --without-cuda, --both or nothing`);
    },
  });
  if (args.both && args["without-cuda"]) {
    throw new Error("--both and --without-cuda exclude each other");
  }
  const archives = await release(args.both ? [true, false] : [!args["without-cuda"]]);
  for (const archive of archives) console.log(`${archive}\n${await sha256(archive)}`);
}
