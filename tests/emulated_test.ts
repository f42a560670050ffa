import { buildKernels } from "../build_kernels.ts";
import { EmulatedFiles } from "./emulation.ts";

// Every kernel of the GPU in a small shape, without a GPU and in the time that somebody waits: the CUDA sources,
// built for the CPU without sanitizers. All shapes, with the sanitizers: slow/emulated_test.ts.

/** Together they launch every kernel. */
const FILES = [
  "golden_test.ts",
  "reference_dequantize_test.ts",
  "reference_operations_test.ts",
  "reference_products_test.ts",
  "reference_matmul_test.ts",
  "expert_matmul_test.ts",
  "reference_attention_test.ts",
  "reference_sample_test.ts",
  "decode_test.ts",
  "step_outputs_test.ts",
];

async function environment(): Promise<Record<string, string>> {
  const { path } = await buildKernels({ target: "emulated" });
  return { M40_TEST_BACKEND: "emulated", M40_KERNELS: path };
}

// One at a time: other files of tests run meanwhile.
const files = new EmulatedFiles(environment(), 1);
for (const file of FILES) files.test("emulated kernels", file);
