// Releases for the CPU, made of two clones of this commit in folders of different names.
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import config from "../../deno.json" with { type: "json" };
import { buildKernels } from "../../build_kernels.ts";
import { run } from "../../tools/release/run.ts";
import { runtimeAvailable } from "../fixtures/compiled_program.ts";
import { faultsOf } from "../fixtures/valid_bill.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));
const NAME = `m40-${config.version}-linux-x86_64-cpu`;

/** Why there can be no release here, where that is so. */
async function missing(): Promise<string | undefined> {
  if (!await runtimeAvailable()) return "deno compile cannot download its runtime (set DENORT_BIN)";
  try {
    await run("git", ["rev-parse", "HEAD"], { cwd: ROOT });
  } catch {
    return "this is not a clone, or git is not there";
  }
}

const reason = await missing();
const available = reason === undefined;
if (!available) console.log(`skipped: the release's test; ${reason}`);

/** Makes a release of a commit in a clone; returns the folder of what it made. */
async function releaseIn(folder: string, commit: string): Promise<string> {
  await run("git", ["clone", "--quiet", "--no-checkout", ROOT, folder]);
  await run("git", ["checkout", "--quiet", "--detach", commit], { cwd: folder });
  // What is compiled already need not be compiled once more: the command is the same, wherever the clone lies.
  await Deno.mkdir(join(folder, "dist", "objects"), { recursive: true });
  await run("cp", ["-R", join(ROOT, "dist/objects/cpu"), join(folder, "dist/objects")]);
  await run(Deno.execPath(), ["run", "-A", "tools/release.ts", "--without-cuda"], {
    cwd: folder,
    // What is set in one shell and not in another.
    env: folder.endsWith("one") ? { OTEL_DENO: "true" } : {},
  });
  return join(folder, "dist", "release");
}

Deno.test("the same commit gives the same bytes, and the bill of materials has what is inside", {
  ignore: !available,
}, async () => {
  await buildKernels({ target: "cpu" });
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const commit = (await run("git", ["rev-parse", "HEAD"], { cwd: ROOT })).trim();
  const first = await releaseIn(join(folder, "one"), commit);
  const second = await releaseIn(join(folder, "another place"), commit);
  assertEquals(
    await Deno.readTextFile(join(second, "SHA256SUMS")),
    await Deno.readTextFile(join(first, "SHA256SUMS")),
  );
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: first });
  await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: join(first, NAME) });

  const text = await Deno.readTextFile(join(first, NAME, "sbom.cdx.json"));
  assertEquals(await faultsOf(text), null);
  const { components } = JSON.parse(text) as { components: { purl?: string }[] };
  const listed = components.flatMap(({ purl }) => purl?.match(/^pkg:npm\/(.*)$/)?.[1] ?? []);
  const executable = await Deno.readFile(join(first, NAME, "m40"));
  const inside = embeddedPackages(new TextDecoder("latin1").decode(executable));
  assertEquals(listed.map(decodeURIComponent).sort(), inside);
  const licences = [...Deno.readDirSync(join(first, NAME, "licences/npm"))];
  assertEquals(licences.length, inside.length);
  // Nothing of the place where it was made.
  assert(!new TextDecoder("latin1").decode(executable).includes(folder));

  const version = JSON.parse(await run(join(first, NAME, "m40"), ["--version", "--json"]));
  assertEquals([version.commit, version.libraries[0].commit], [commit, commit]);

  await Deno.writeTextFile(join(folder, "one", "README.md"), "changed");
  const refused = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "tools/release.ts", "--without-cuda"],
    cwd: join(folder, "one"),
  }).output();
  assertEquals(refused.success, false);
  assert(new TextDecoder().decode(refused.stderr).includes("README.md"));
});

/** A folder of the executable's file system. */
interface Folder {
  readonly n: string;
  readonly e: readonly { readonly Dir?: Folder }[];
}

/** The npm packages in an executable, as `name@version`: the folders of its file system, which it has as JSON. */
function embeddedPackages(executable: string): string[] {
  const start = executable.lastIndexOf('{"Dir":{"n":".deno_compile_node_modules"');
  assert(start >= 0, "the executable's file system has no packages");
  let depth = 0, end = start;
  do {
    if (executable[end] === "{") depth++;
    if (executable[end] === "}") depth--;
    end++;
  } while (depth > 0);
  const { Dir } = JSON.parse(executable.slice(start, end)) as { Dir: Folder };
  const folders = (folder: Folder) => folder.e.flatMap((entry) => entry.Dir ?? []);
  const [registry] = folders(Dir);
  const names = folders(registry).flatMap((one) =>
    one.n.startsWith("@")
      ? folders(one).map((inner) => ({ ...inner, n: `${one.n}/${inner.n}` }))
      : [one]
  );
  return names.flatMap((one) => folders(one).map((version) => `${one.n}@${version.n}`)).sort();
}
