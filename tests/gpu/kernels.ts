import { assert, assertEquals, AssertionError } from "@std/assert";
import { KernelLibrary } from "../../engine/device/library.ts";
import { ENGINE_SUITE, runFile, SUITE } from "../fixtures/suite.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

// The CUDA library on a GPU of this machine: the tests that the CPU library passes and the goldens through the
// whole engine, each file twice, for equal bits. Run by `deno task test:gpu`. Where CUDA's
// compute-sanitizer works, some run once more under it, for two minutes; M40_TEST_SANITIZER=0 leaves that out.

const library = KernelLibrary.find("cuda");
const { count, absence } = library.countDevices();
if (count === 0) throw new Error(`no GPU to test on: ${absence}`);
const device = library.device(0);
library.close();
console.log(
  `${device.name}, ${device.instructionSet}, ${device.multiprocessors} multiprocessors, ` +
    `driver ${device.driverVersion}`,
);

for (const file of SUITE) {
  Deno.test(`cuda: ${file}`, async (t) => {
    const digests: string[] = [];
    for (let i = 0; i < 2; i++) {
      using temporary = new TemporaryFile();
      const digest = temporary.path;
      const results = await runFile(file, { M40_TEST_BACKEND: "cuda", M40_TEST_DIGEST: digest });
      digests.push(await Deno.readTextFile(digest));
      for (const { name, failure } of i === 0 ? results : []) {
        await t.step(name, () => {
          if (failure !== undefined) throw new AssertionError(failure);
        });
      }
    }
    await t.step("computes the same bits again", () => {
      const [first, second] = digests.map((text) => text.split("\n"));
      assert(
        first.length > 1 ||
          /dequantize|slots|records|steps|errors|resources|fuzz|upload|arenas/.test(file),
        "no result was recorded",
      );
      const at = first.findIndex((line, i) => line !== second[i]);
      assertEquals(at, -1, `result ${at} is ${first[at]}, then ${second[at]}`);
    });
  });
}

// Requests alone and among others, with random ends, preemption and shared prefixes: the whole engine.
const ENGINE = [
  "tests/kernels/batching_test.ts",
  "tests/kernels/state_runs_test.ts",
  "tests/engine/cache_windows_test.ts",
  "tests/engine/engine_sampling_test.ts",
];
for (const file of [...ENGINE_SUITE, ...ENGINE]) {
  Deno.test(`cuda: ${file}`, async (t) => {
    for (const { name, failure } of await runFile(file, { M40_TEST_BACKEND: "cuda" })) {
      await t.step(name, () => {
        if (failure !== undefined) throw new AssertionError(failure);
      });
    }
  });
}

/** Whether it can watch a program: one package of it has the command without the libraries that it needs. */
async function sanitizerWorks(): Promise<boolean> {
  try {
    const { success, stdout, stderr } = await new Deno.Command("compute-sanitizer", {
      args: [Deno.execPath(), "--version"],
    }).output();
    if (!success) {
      const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      console.log(`compute-sanitizer is left out, it does not work here: ${said.trim()}`);
    }
    return success;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    console.log("compute-sanitizer is left out: it is not on the PATH");
    return false;
  }
}

const sanitizes = Deno.env.get("M40_TEST_SANITIZER") !== "0" && await sanitizerWorks();
const SANITIZED = [
  "tests/kernels/operations_test.ts",
  "tests/kernels/norm_test.ts",
  "tests/kernels/products_test.ts",
  "tests/kernels/route_test.ts",
  "tests/kernels/experts_test.ts",
  "tests/kernels/expert_matmul_test.ts",
  "tests/kernels/attention_test.ts",
  "tests/kernels/cache_layers_test.ts",
  "tests/kernels/decode_test.ts",
];

for (const file of SANITIZED) {
  Deno.test(`cuda under compute-sanitizer: ${file}`, { ignore: !sanitizes }, async (t) => {
    const under = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "86"];
    for (const { name, failure } of await runFile(file, { M40_TEST_BACKEND: "cuda" }, under)) {
      await t.step(name, () => {
        if (failure !== undefined) throw new AssertionError(failure);
      });
    }
  });
}
