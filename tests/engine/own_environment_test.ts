import { TestFiles } from "../fixtures/test_files.ts";

// Tests that change the environment of the process itself, which programs that it starts and the runtime go by: other
// files' tests are in one process with each other. So these files have a process of their own, each after the other.

const files = new TestFiles(Promise.resolve({}), 1);
const secret = "a-secret-of-ours";
files.test("environment", "tests/fixtures/device_environment.ts", {
  M40_API_KEY: secret,
  HF_TOKEN: secret,
  AWS_SECRET_ACCESS_KEY: secret,
  ODD: secret,
  DENO_AUTH_TOKENS: `${secret}@models.invalid`,
  CUDA_VISIBLE_DEVICES: "0",
});
files.test("environment", "tests/fixtures/download_environment.ts");
files.test("environment", "tests/fixtures/cuda_toolkits.ts");
