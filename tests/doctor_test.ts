import { buildKernels } from "../build_kernels.ts";
import { TestFiles } from "./test_files.ts";

// `m40 doctor`, the pacing of steps and `m40 bench --power` on an emulated card with a driver that says what it is told to. Each file has a
// process of its own: they set the environment that kernel libraries are found by, which all tests of a process share.

const FILES = [
  "doctor_findings.ts",
  "doctor_unusable.ts",
  "doctor_report.ts",
  "doctor_self_check.ts",
  "emulated_pacer.ts",
  "emulated_power.ts",
];

async function environment(): Promise<Record<string, string>> {
  await buildKernels({ target: "cpu" });
  await buildKernels({ target: "emulated" });
  return {};
}

// One at a time: other files of tests run meanwhile.
const files = new TestFiles(environment(), 1);
for (const file of FILES) files.test("doctor", file);
