import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { buildKernels } from "../../build_kernels.ts";
import { KernelLibrary } from "../../engine/device/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { bestInstructionSet, INSTRUCTION_SETS } from "../../tools/build/instruction_sets.ts";

const ROOT = fromFileUrl(new URL("../..", import.meta.url));

/** The flags in the first line of an instruction set's source. */
function flagsOf(name: string): string[] {
  const [line] = Deno.readTextFileSync(join(ROOT, `cuda/cpu/kernels_${name}.cpp`)).split("\n", 1);
  return line.replace("// flags: ", "").split(" ");
}

Deno.test("a processor gets the best instruction set of which it has every feature", () => {
  const best = (features: string) => bestInstructionSet(new Set(features.split(" ")), flagsOf);
  assertEquals(best("sse2"), "baseline");
  assertEquals(best("sse2 avx"), "avx");
  assertEquals(best("sse2 avx avx2 fma"), "avx", "f16c is missing");
  assertEquals(best("sse2 avx avx2 fma f16c avx512f"), "avx2", "three of avx512 are missing");
  assertEquals(best("avx avx2 fma f16c avx512f avx512bw avx512dq avx512vl"), "avx512");
});

/** A copy of what the build reads, with the objects of some instruction sets missing. */
async function copyWithout(missing: readonly string[]): Promise<string> {
  await buildKernels({ target: "cpu" });
  const copy = await Deno.makeTempDir();
  const parts = ["build_kernels.ts", "deno.json", "deno.lock", "server/page/client/deno.json"];
  const folders = ["cuda", "tools/build", "dist/objects/cpu"];
  // Their times decide what is compiled.
  const { success } = await new Deno.Command("cp", {
    args: ["-a", "--parents", ...parts, ...folders, copy],
    cwd: ROOT,
  }).output();
  assertEquals(success, true);
  for (const name of missing) {
    await Deno.remove(join(copy, `dist/objects/cpu/cpu_kernels_${name}.cpp.o`));
  }
  return copy;
}

Deno.test("a build for this processor leaves out what no other build has compiled, and the library says so", async () => {
  const own = bestInstructionSet(
    new Set(Deno.readTextFileSync("/proc/cpuinfo").match(/^flags\s*: (.*)$/m)![1].split(" ")),
    flagsOf,
  );
  const others = INSTRUCTION_SETS.filter((name) => name !== own);
  const [compiled, ...missing] = others;
  const copy = await copyWithout(missing);
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "build_kernels.ts", "--this-processor"],
      cwd: copy,
    }).output();
    assertEquals([code, new TextDecoder().decode(stderr)], [0, ""]);
    const lines = new TextDecoder().decode(stdout).trim().split("\n");
    assertEquals(lines.slice(0, -2), ["compile cuda/common/build_info.cpp"]);

    const path = join(copy, "dist/libm40_cpu.so");
    const has = INSTRUCTION_SETS.filter((name) => name === own || name === compiled).toReversed();
    const info = await Deno.readTextFile(join(copy, "dist/objects/cpu/build_info_json.h"));
    assertStringIncludes(info.replaceAll("\\", ""), `"architectures":${JSON.stringify(has)}`);
    await using library = KernelLibrary.open(path);
    await library.createContext({ instructionSet: own }).close();
    assertEquals(library.device(0).instructionSet, own);
    const error = assertThrows(
      () => library.createContext({ instructionSet: missing[0] }),
      M40Error,
      `instruction set "${missing[0]}": this processor or this build lacks it (built: ` +
        `${has.toReversed().join(", ")})`,
    );
    assertEquals(error.code, "unsupported");
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
});
