import { TestFiles } from "../fixtures/test_files.ts";

// In a process of its own, as doctor_emulated_test.ts says.
new TestFiles(Promise.resolve({}), 1).test("doctor", "tests/slow/doctor_whole_self_check.ts");
