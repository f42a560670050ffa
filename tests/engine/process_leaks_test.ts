import { TestFiles } from "../fixtures/test_files.ts";

// Tests that count this process's descriptors and children, or end all of them: other files' tests, which are in one process with each other, open
// and start some as well. So these files have a process of their own, each after the other.

const files = new TestFiles(Promise.resolve({}), 1);
const FILES = [
  "tests/fixtures/load_failures.ts",
  "tests/fixtures/replica_processes.ts",
  "tests/fixtures/device_process_leaks.ts",
  "tests/fixtures/models_processes.ts",
];
for (const file of FILES) files.test("processes", file);
