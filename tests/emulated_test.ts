import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { buildKernels } from "../build_kernels.ts";

// The GPU's kernels without a GPU: the CUDA sources, built for the CPU through cuda/emulation/ with the address
// and undefined-behaviour sanitizers, run the tests that the CPU library passes. Each file is run in a process of
// its own, since the sanitizer has to be there before anything else is loaded.

/** Files of tests of M40_TEST_BACKEND's library. */
const FILES = [
  "reference_dequantize_test.ts",
  "reference_operations_test.ts",
  "reference_matmul_test.ts",
  "reference_attention_test.ts",
  "reference_sample_test.ts",
  "reference_determinism_test.ts",
  "reference_steps_test.ts",
  "reference_fuzz_test.ts",
  "decode_test.ts",
  "golden_test.ts",
  "emulated_device.ts",
];
/** Those whose kernels' threads have most to tell each other are run from the last thread to the first, too. */
const REVERSED = [
  "reference_operations_test.ts",
  "reference_attention_test.ts",
  "reference_sample_test.ts",
  "decode_test.ts",
  "golden_test.ts",
];

interface Result {
  readonly name: string;
  readonly failure?: string;
}

/** The sanitizer's library, of the compiler that built with it. */
async function sanitizer(): Promise<string> {
  const compiler = Deno.env.get("CXX") ?? "g++";
  const name = /clang/.test(compiler) ? `libclang_rt.asan-${Deno.build.arch}.so` : "libasan.so";
  const { stdout } = await new Deno.Command(compiler, { args: [`-print-file-name=${name}`] })
    .output();
  const path = new TextDecoder().decode(stdout).trim();
  assert(path.includes("/"), `${compiler} has no ${name}; on Debian it comes with gcc`);
  return path;
}

/** Runs a file of tests in a process of its own. */
async function runFile(file: string, environment: Record<string, string>): Promise<Result[]> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", "-A", "--no-check", "--quiet", `--junit-path=${report}`],
        fromFileUrl(new URL(file, import.meta.url)),
      ],
      env: { ...environment, NO_COLOR: "1" },
    }).output();
    const results = parseReport(await Deno.readTextFile(report));
    const decoder = new TextDecoder();
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    const failed = results.filter(({ failure }) => failure !== undefined).length;
    if (results.length === 0 || (code !== 0 && failed === 0)) {
      return [...results, { name: "the process", failure: `exit code ${code}\n${output}` }];
    }
    return results;
  } finally {
    await Deno.remove(report);
  }
}

/** The test cases of a JUnit report. */
function parseReport(xml: string): Result[] {
  const unescape = (text: string) =>
    text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&apos;/g, "'")
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/&#x([\da-f]+);/gi, (_, code) => String.fromCodePoint(parseInt(code, 16)))
      .replace(/&amp;/g, "&");
  return [...xml.matchAll(/<testcase name="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, name, body = ""]) => ({
      name: unescape(name),
      failure: /<(failure|error)\b/.test(body) ? unescape(body.trim()) : undefined,
    }),
  );
}

/** Built once, and before any test so that its time is its own. */
let environment: Record<string, string> | undefined;

Deno.test("the CUDA sources compile for the CPU, with the sanitizers", async () => {
  const { path } = await buildKernels({ target: "emulated", debug: true });
  environment = {
    M40_TEST_BACKEND: "emulated",
    M40_KERNELS: path,
    LD_PRELOAD: await sanitizer(),
    // Deno keeps much until it ends; it handles some signals itself.
    ASAN_OPTIONS: "detect_leaks=0:handle_segv=0:detect_stack_use_after_return=0",
    UBSAN_OPTIONS: "print_stacktrace=1",
  };
});

for (const [files, order] of [[FILES, "forward"], [REVERSED, "reverse"]] as const) {
  for (const file of files) {
    const title = `emulated kernels, sanitized${order === "reverse" ? ", threads in reverse" : ""}`;
    Deno.test(`${title}: ${file}`, async (t) => {
      assert(environment !== undefined, "the library was not built");
      const results = await runFile(file, { ...environment, M40_EMULATION_ORDER: order });
      for (const { name, failure } of results) {
        await t.step(name, () => assertEquals(failure, undefined, failure));
      }
    });
  }
}
