import { TestFiles } from "../fixtures/test_files.ts";

// The tests of random cases once more: many more cases, started from another seed where the test takes one.

const FUZZ = { M40_FUZZ_CASES: "20000", M40_FUZZ_SEED: "2" };

/** Those that take longest first. */
const RUNS: Record<string, Record<string, string>> = {
  "engine/store/download/property_test.ts": { M40_FUZZ_CASES: "250", M40_FUZZ_SEED: "2" },
  "engine/scheduler/property_test.ts": { M40_SCHEDULER_RUNS: "500", M40_SCHEDULER_SEED: "100000" },
  "tests/kernels/batching_test.ts": { M40_STRESS_REQUESTS: "5000" },
  "tests/kernels/state_batching_test.ts": { M40_STRESS_REQUESTS: "5000" },
  "engine/device/messages_test.ts": { M40_FUZZ_CASES: "20000", M40_FUZZ_SEED: "2" },
  "tests/server/fuzz_test.ts": FUZZ,
  "tests/server/responses/fuzz_test.ts": { M40_FUZZ_CASES: "10000", M40_FUZZ_SEED: "2" },
  "tests/kernels/fuzz_test.ts": { M40_FUZZ_CASES: "4000" },
  "tests/engine/program_split_test.ts": { M40_SPLIT_CUTS: "all" },
  "tests/engine/staged_engine_test.ts": {
    M40_STAGED_ENGINES: "llama,gpt-oss,gemma3,deepseek2,qwen3next,granitehybrid,mamba2",
    M40_STAGED_CARDS: "3",
  },
  "engine/gguf/fuzz_test.ts": FUZZ,
  "tests/engine/model_manager_property_test.ts": { M40_MANAGER_RUNS: "1000" },
  "tests/server/http_test.ts": { M40_FUZZ_CASES: "10000" },
};

/** As many at a time as there are processors. */
const files = new TestFiles(Promise.resolve({}), navigator.hardwareConcurrency);

for (const [file, environment] of Object.entries(RUNS)) {
  const amount = Object.entries(environment).map(([name, value]) => `${name}=${value}`).join(" ");
  files.test(`with more cases, ${amount}`, file, environment);
}
