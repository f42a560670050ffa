import { assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { buildKernels } from "../../build_kernels.ts";
import { REVERSE, TestFiles } from "../fixtures/test_files.ts";

// Every kernel of the GPU in a small shape, without a GPU: the CUDA sources, built for the CPU without sanitizers, and
// threads run from the last to the first. Whoever changes a kernel runs this file first: it takes two minutes. All
// shapes, with the sanitizers and from the first thread to the last: emulated_test.ts.

const OPS = fromFileUrl(new URL("../../cuda/ops", import.meta.url));

/** Together they launch every kernel. */
const FILES = [
  "tests/kernels/golden_test.ts",
  "tests/kernels/dequantize_test.ts",
  "tests/kernels/operations_test.ts",
  "tests/kernels/norm_test.ts",
  "tests/kernels/products_test.ts",
  "tests/kernels/route_test.ts",
  "tests/kernels/state_test.ts",
  "tests/kernels/experts_test.ts",
  "tests/kernels/matmul_test.ts",
  "tests/kernels/packed_test.ts",
  "tests/kernels/packed_experts_test.ts",
  "tests/kernels/attention_test.ts",
  "tests/kernels/cache_layers_test.ts",
  "tests/kernels/shaped_sample_test.ts",
  "tests/kernels/decode_test.ts",
  "tests/kernels/device_runs_test.ts",
  "tests/kernels/device_state_runs_test.ts",
  "tests/kernels/lanes_test.ts",
  "tests/kernels/exchange_test.ts",
];

/** Gets the names of the kernels that are launched, a line each. */
const launched = await Deno.makeTempFile();

async function environment(): Promise<Record<string, string>> {
  const { path } = await buildKernels({ target: "emulated" });
  return {
    M40_TEST_BACKEND: "emulated",
    M40_KERNELS: path,
    M40_EMULATION_KERNELS: launched,
    ...REVERSE,
  };
}

/** As many at a time as there are processors. */
const files = new TestFiles(environment(), navigator.hardwareConcurrency);
for (const file of FILES) files.test("emulated kernels, threads in reverse", file);

/** The names of kernels in a text, without their template arguments. */
function kernelsIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, name]) => name))].sort();
}

Deno.test("a kernel that none of these files launches would be run by the long tests alone", async () => {
  const sources = [...Deno.readDirSync(OPS)].map(({ name }) =>
    Deno.readTextFileSync(`${OPS}/${name}`)
  );
  const wanted = kernelsIn(sources.join("\n"), /M40_LAUNCH\(\((\w+)/g);
  const got = kernelsIn(await Deno.readTextFile(launched), /^\(?(\w+)/gm);
  await Deno.remove(launched);
  assertEquals(wanted.filter((name) => !got.includes(name)), []);
  assertEquals(wanted.length > 20, true, `found ${wanted.length} kernels`);
});
