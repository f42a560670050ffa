import { TestFiles } from "./test_files.ts";

// Loads that fail, and the processes that are left: they are counted, and other files' tests, which are in one process with each
// other, start some as well. So this file has a process of its own.

new TestFiles(Promise.resolve({}), 1).test("processes", "load_failures.ts");
