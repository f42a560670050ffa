import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname, join } from "@std/path";
import { BuildError } from "../../tools/build/build_error.ts";
import { findCudaToolkit } from "../../tools/build/cuda_toolkit.ts";
import { TemporaryEnvironment } from "../fixtures/temporary.ts";

// Which CUDA toolkit builds the kernels. Real ones where this machine has them: 11 or 12 wherever nvcc is looked for, 13 in
// /usr/local/cuda-13* or in the folder that M40_TEST_CUDA_13 names. Else programs that give a version and do no more.

const real = await findCudaToolkit().catch(() => undefined);
const real13 = findCuda13();

function findCuda13(): string | undefined {
  const folders = [Deno.env.get("M40_TEST_CUDA_13") ?? ""];
  try {
    for (const { name } of Deno.readDirSync("/usr/local")) {
      if (name.startsWith("cuda-13")) folders.push(join("/usr/local", name));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return folders.filter((folder) => folder !== "").map((folder) => join(folder, "bin", "nvcc"))
    .find((path) => {
      try {
        return Deno.statSync(path).isFile;
      } catch {
        return false;
      }
    });
}

/** Folders with programs that print the version of a CUDA release. */
class Toolkits implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  static async make(): Promise<Toolkits> {
    return new Toolkits(await Deno.makeTempDir());
  }

  /** @returns The path of nvcc in a toolkit. */
  async add(name: string, releases: { nvcc: string; ptxas?: string }): Promise<string> {
    const folder = join(this.folder, name, "bin");
    await Deno.mkdir(folder, { recursive: true });
    for (const [program, release] of Object.entries(releases)) {
      const text = `#!/bin/sh\necho "Cuda compilation tools, release ${release}, V${release}.1"\n`;
      await Deno.writeTextFile(join(folder, program), text, { mode: 0o755 });
    }
    return join(folder, "nvcc");
  }

  async [Symbol.asyncDispose]() {
    await Deno.remove(this.folder, { recursive: true });
  }
}

const withCompiler = async (test: () => Promise<void>) => {
  using _environment = new TemporaryEnvironment({ NVCC_CCBIN: "g++" });

  await test();
};

/** What the ptxas says that nvcc's process would find first. */
async function assemblerOf(environment: Record<string, string>): Promise<string> {
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", "ptxas --version"],
    env: environment,
  }).output();
  return /release (\d+\.\d+)/.exec(new TextDecoder().decode(stdout))![1];
}

Deno.test("the real CUDA 13 is refused by name and version (ignored where this machine has none)", {
  ignore: real13 === undefined,
}, async () => {
  const error = await assertRejects(() => findCudaToolkit([real13!]), BuildError);
  const [summary, reason, advice] = error.message.split("\n");
  assertEquals(
    summary,
    "no nvcc of CUDA 11 or 12 was found (CUDA 13 and newer cannot build for the M40).",
  );
  assert(reason.startsWith(`${real13} is of CUDA 13.`), reason);
  assertMatch(reason, /CUDA 13\.\d+, which no longer knows compute capability 5\.2$/);
  assertMatch(advice, /^Install one .*CUDA_HOME\.$/);
});

Deno.test({
  name:
    "the real nvcc runs its own ptxas, whichever the PATH has first (ignored where this machine " +
    "has no CUDA 11 or 12)",
  ignore: real === undefined,
  async fn() {
    await using toolkits = await Toolkits.make();
    const other = real13 ?? await toolkits.add("13", { nvcc: "13.0", ptxas: "13.0" });
    const path = `${dirname(other)}:${Deno.env.get("PATH")}`;
    using _environment = new TemporaryEnvironment({ PATH: path });

    assertMatch(await assemblerOf({}), /^13\./);
    const toolkit = await findCudaToolkit();
    assertEquals([toolkit.nvcc, toolkit.version], [real!.nvcc, real!.version]);
    assertEquals(await assemblerOf(toolkit.environment), real!.version);
    // The output of nvcc depends on it.
    assertEquals(toolkit.environment, real!.environment);
  },
});

Deno.test("CUDA 13 and CUDA 10 are refused by name and version, and the next one is taken", async () => {
  await withCompiler(async () => {
    await using toolkits = await Toolkits.make();
    const newer = await toolkits.add("13", { nvcc: "13.1", ptxas: "13.1" });
    const older = await toolkits.add("10", { nvcc: "10.2", ptxas: "10.2" });
    const good = await toolkits.add("12", { nvcc: "12.4", ptxas: "12.4" });
    const error = await assertRejects(() => findCudaToolkit([newer, older]), BuildError);
    assertEquals(error.message.split("\n").slice(1, 3), [
      `${newer} is of CUDA 13.1, which no longer knows compute capability 5.2`,
      `${older} is of CUDA 10.2, which knows no C++17`,
    ]);
    const toolkit = await findCudaToolkit([newer, older, good]);
    assertEquals([toolkit.nvcc, toolkit.version], [good, "12.4"]);
    assertEquals(await assemblerOf(toolkit.environment), "12.4");
  });
});

Deno.test("a toolkit whose ptxas is missing or of another version is refused", async () => {
  await withCompiler(async () => {
    await using toolkits = await Toolkits.make();
    const bare = await toolkits.add("bare", { nvcc: "11.8" });
    const mixed = await toolkits.add("mixed", { nvcc: "11.8", ptxas: "12.2" });
    const error = await assertRejects(() => findCudaToolkit([bare, mixed]), BuildError);
    const ptxas = join(dirname(mixed), "ptxas");
    assertEquals(error.message.split("\n").slice(1, 3), [
      `${bare} has no ptxas next to it`,
      `${mixed} is of CUDA 11.8, but ${ptxas} next to it is of CUDA 12.2`,
    ]);
  });
});
