import { AssertionError } from "@std/assert";
import { runFile } from "../suite.ts";

// The tests of random cases once more: many more cases, begun from another seed where the test takes one.

const FUZZ = { M40_FUZZ_CASES: "40000", M40_FUZZ_SEED: "2" };

const RUNS: Record<string, Record<string, string>> = {
  "batching_test.ts": { M40_STRESS_REQUESTS: "10000" },
  "scheduler_property_test.ts": { M40_SCHEDULER_RUNS: "3000", M40_SCHEDULER_SEED: "100000" },
  "reference_fuzz_test.ts": { M40_FUZZ_CASES: "8000" },
  "gguf_fuzz_test.ts": FUZZ,
  "server_fuzz_test.ts": FUZZ,
  "device_messages_test.ts": { M40_FUZZ_CASES: "20000", M40_FUZZ_SEED: "2" },
  "download_property_test.ts": { M40_FUZZ_CASES: "1000", M40_FUZZ_SEED: "2" },
  "server_http_test.ts": { M40_FUZZ_CASES: "20000" },
};

for (const [file, environment] of Object.entries(RUNS)) {
  const amount = Object.entries(environment).map(([name, value]) => `${name}=${value}`).join(" ");
  Deno.test(`with more cases, ${amount}: ${file}`, async (t) => {
    for (const { name, failure } of await runFile(file, environment)) {
      await t.step(name, () => {
        if (failure !== undefined) throw new AssertionError(failure);
      });
    }
  });
}
