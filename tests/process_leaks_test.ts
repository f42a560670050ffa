import { TestFiles } from "./test_files.ts";

// Tests that count this process's children: other files' tests, which are in one process with each other, start some as
// well. So these files have a process of their own, each after the other.

const files = new TestFiles(Promise.resolve({}), 1);
for (const file of ["load_failures.ts", "replica_processes.ts"]) files.test("processes", file);
