import { buildKernels } from "../../build_kernels.ts";
import { TestFiles } from "../fixtures/test_files.ts";

// `m40 doctor`, the pacing of steps and `m40 bench --power` on an emulated card with a driver that reports what a test sets. Each file has a
// process of its own: they set the environment that kernel libraries are found by, which all tests of a process share.

/** Those that take longest first. */
const FILES = [
  "tests/kernels/emulated/power.ts",
  "tests/cli/doctor/findings.ts",
  "tests/cli/doctor/unusable.ts",
  "tests/cli/doctor/report.ts",
  "tests/cli/doctor/self_check.ts",
  "tests/kernels/emulated/pacer.ts",
];

async function environment(): Promise<Record<string, string>> {
  await buildKernels({ target: "cpu" });
  await buildKernels({ target: "emulated" });
  return {};
}

/** As many at a time as there are processors. */
const files = new TestFiles(environment(), navigator.hardwareConcurrency);
for (const file of FILES) files.test("doctor", file);
