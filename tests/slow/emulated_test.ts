import { assert } from "@std/assert";
import { dirname, fromFileUrl } from "@std/path";
import { buildKernels } from "../../build_kernels.ts";
import { buildManagement } from "../fixtures/emulated_management.ts";
import { REVERSE, TestFiles } from "../fixtures/test_files.ts";
import { ENGINE_SUITE, SUITE } from "../fixtures/suite.ts";

// The GPU's kernels without a GPU: the CUDA sources, built for the CPU through cuda/emulation/ with the address
// and undefined-behaviour sanitizers, run the tests that the CPU library passes. Each file is run in a process of
// its own, since the sanitizer has to be there before anything else is loaded.

/**
 * Those whose kernels' threads exchange most are run from the last thread to the first, too: without the sanitizers,
 * which check every access in the other order. Most of them are in emulated_reverse_test.ts, which does nothing else;
 * these take longer. The one that takes longest comes first, so that no processor has nothing to do in the end.
 */
const REVERSED = [
  "tests/slow/attention_shapes_test.ts",
  "tests/kernels/expert_matmul_test.ts",
  "tests/kernels/sample_test.ts",
  "tests/kernels/decode_rows_test.ts",
  "tests/kernels/state_runs_test.ts",
];

/**
 * Those of decode steps, which are run by the persistent kernel, too: what it has no bodies for is run by graphs. The
 * one that takes longest comes first.
 */
const RESIDENT = [
  "tests/kernels/batching_test.ts",
  "tests/kernels/golden_test.ts",
  "tests/kernels/products_test.ts",
  "tests/kernels/sample_test.ts",
  "tests/kernels/decode_test.ts",
  "tests/kernels/device_runs_test.ts",
  "tests/kernels/device_state_runs_test.ts",
  "tests/kernels/lanes_test.ts",
];

/**
 * Those of them that take long with the sanitizers: the bodies in them are seen by these where launches run them, and
 * what is around the bodies in the others.
 */
const LONG = [
  "tests/kernels/golden_test.ts",
  "tests/kernels/batching_test.ts",
  "tests/kernels/products_test.ts",
  "tests/kernels/sample_test.ts",
  "tests/kernels/decode_test.ts",
  "tests/kernels/lanes_test.ts",
];

/**
 * Those of the whole engine, whose kernels are sanitized by the files that compute, and what the library does around
 * them by those that only an emulated device allows: here without the sanitizers, which take five times as long.
 */
const ENGINE = [
  ...ENGINE_SUITE,
  "tests/engine/staged_engine_test.ts",
  "tests/engine/staged_server_test.ts",
  "tests/engine/row_split_test.ts",
  // Its cards are lost and hang as those of stages.ts do, which is sanitized.
  "tests/kernels/emulated/replicas.ts",
];

/** Those that hold a kernel's bits on one card against those on others. What they launch is sanitized in other files. */
const CARDS = [
  "tests/kernels/emulated/resident_walk.ts",
  "tests/kernels/emulated/multiprocessors.ts",
];

/** Those that only an emulated device allows, and of what is between devices and processes. */
const EMULATED = [
  "tests/kernels/emulated/device.ts",
  "tests/kernels/emulated/devices.ts",
  "tests/kernels/emulated/choice.ts",
  "tests/kernels/emulated/lost.ts",
  "tests/kernels/emulated/graphs.ts",
  "tests/kernels/emulated/executors.ts",
  "tests/kernels/emulated/resident.ts",
  "tests/kernels/emulated/resident_runs.ts",
  "tests/kernels/emulated/launches.ts",
  "tests/kernels/emulated/hang.ts",
  "tests/kernels/emulated/process.ts",
  "tests/kernels/emulated/stages.ts",
  "tests/kernels/emulated/rows.ts",
  "tests/kernels/exchange_test.ts",
  "tests/engine/exchange_choice_test.ts",
  "tests/engine/row_split_runs_test.ts",
  "tests/engine/row_split_server_test.ts",
  "engine/device/messages_test.ts",
  "tests/engine/device_process_test.ts",
  "tests/fixtures/device_process_leaks.ts",
  "tests/slow/device_process_failures_test.ts",
];

/**
 * What has to be in the process before Deno: the sanitizer's library, of the compiler that built with it, and
 * that of C++, whose exceptions the sanitizer watches.
 */
async function preloaded(): Promise<string> {
  const compiler = Deno.env.get("CXX") ?? "g++";
  const clang = /clang/.test(compiler);
  const names = [
    clang ? `libclang_rt.asan-${Deno.build.arch}.so` : "libasan.so",
    "libstdc++.so.6",
  ];
  const paths = names.map(async (name) => {
    const { stdout } = await new Deno.Command(compiler, { args: [`-print-file-name=${name}`] })
      .output();
    const path = new TextDecoder().decode(stdout).trim();
    assert(path.includes("/"), `${compiler} has no ${name}; on Debian it comes with gcc`);
    return path;
  });
  return (await Promise.all(paths)).join(" ");
}

async function build(): Promise<Record<string, string>> {
  await buildKernels({ target: "emulated" });
  const { path } = await buildKernels({ target: "emulated", debug: true });
  return {
    M40_TEST_BACKEND: "emulated",
    M40_KERNELS: path,
    LD_PRELOAD: await preloaded(),
    LD_LIBRARY_PATH: await buildManagement(dirname(path)),
    // Deno keeps much until it ends; it handles some signals itself.
    ASAN_OPTIONS:
      "detect_leaks=0:handle_segv=0:detect_stack_use_after_return=0:allocator_may_return_null=1",
    UBSAN_OPTIONS: "print_stacktrace=1",
  };
}

const environment = build();
/** As many at a time as there are processors. */
const files = new TestFiles(environment, navigator.hardwareConcurrency);

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("the CUDA sources compile for the CPU, with the sanitizers", options, async () => {
  await environment;
});

/**
 * What makes the long ones shorter: with longer contexts and more ways to cut an answer threads do the same more often.
 */
const SHORTER = {
  M40_ATTENTION_TOKENS: "1300",
  M40_BATCHED_TOKENS: "40",
  M40_DECODED_CUTS: "1",
};

const forward = {
  ...SHORTER,
  // Sanitized, attention takes three times as long; threads in reverse have the longer contexts.
  M40_ATTENTION_TOKENS: "700",
  // Which type the weights are of is the products' matter, which are sanitized in files of their own.
  M40_DECODED_TYPES: "Q4_K,Q6_K,MXFP4",
  M40_EMULATION_ORDER: "forward",
  M40_GOLDEN_CACHES: "one",
};
for (const file of [...SUITE, ...EMULATED]) {
  files.test("emulated kernels, sanitized", file, forward);
}

const PLAIN = {
  M40_KERNELS: fromFileUrl(new URL("../../dist/libm40_emulated.so", import.meta.url)),
  LD_PRELOAD: "",
};
for (const file of [...ENGINE, ...CARDS]) {
  files.test("emulated kernels", file, { ...forward, ...PLAIN });
}

const reverse = { ...SHORTER, ...REVERSE, ...PLAIN };
for (const file of REVERSED) {
  files.test("emulated kernels, threads in reverse", file, reverse);
}

const resident = { ...SHORTER, M40_TEST_EXECUTOR: "resident", M40_STRESS_REQUESTS: "60" };
/** Of two thread blocks: each has several of nearly every product and of attention. */
const FEW_BLOCKS = { M40_EMULATION_MULTIPROCESSORS: "1" };
for (const file of RESIDENT) {
  // With the sanitizers in one order of the threads, without them in the other.
  if (!LONG.includes(file)) {
    files.test("persistent kernel, sanitized", file, { ...forward, ...resident });
  }
  files.test("persistent kernel, threads in reverse", file, {
    ...{ ...reverse, ...resident },
    ...FEW_BLOCKS,
  });
}
