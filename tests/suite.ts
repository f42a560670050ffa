/**
 * The tests of a kernel library by itself, run in processes of their own: on the emulated library, and on a GPU.
 *
 * @module
 */
import { fromFileUrl } from "@std/path";

/** Files of tests that take the library that M40_TEST_BACKEND names. */
export const SUITE = [
  "reference_dequantize_test.ts",
  "reference_operations_test.ts",
  "reference_norm_test.ts",
  "reference_products_test.ts",
  "reference_route_test.ts",
  "reference_state_test.ts",
  "reference_slots_test.ts",
  "reference_copy_test.ts",
  "reference_experts_test.ts",
  "reference_matmul_test.ts",
  "expert_matmul_test.ts",
  "reference_attention_test.ts",
  "reference_fusion_test.ts",
  "cache_layers_test.ts",
  "slow/attention_shapes_test.ts",
  "reference_sample_test.ts",
  "shaped_sample_test.ts",
  "reference_determinism_test.ts",
  "reference_steps_test.ts",
  "reference_errors_test.ts",
  "reference_records_test.ts",
  "reference_resources_test.ts",
  "reference_fuzz_test.ts",
  "program_arenas_test.ts",
  "upload_test.ts",
  "decode_test.ts",
  "decode_rows_test.ts",
  "device_runs_test.ts",
  "device_state_runs_test.ts",
  "step_outputs_test.ts",
  "golden_test.ts",
];

/** Those of the whole engine: what shares a step follows from who comes when, and differs from run to run. */
export const ENGINE_SUITE = [
  "engine_failures_test.ts",
  "engine_requests_test.ts",
  "engine_scoring_test.ts",
  "server_failures_test.ts",
];

/** How a test ended. */
export interface Result {
  readonly name: string;
  /** What went wrong, where something did. */
  readonly failure?: string;
}

/** Runs a file of tests in a process of its own, under a program (a debugger, say) where one is given. */
export async function runFile(
  file: string,
  environment: Record<string, string>,
  under: readonly string[] = [],
): Promise<Result[]> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    const { code, stdout, stderr } = await new Deno.Command(under[0] ?? Deno.execPath(), {
      args: [
        ...(under.length > 0 ? [...under.slice(1), Deno.execPath()] : []),
        ...["test", "-A", "--no-check", "--quiet", `--junit-path=${report}`],
        fromFileUrl(new URL(file, import.meta.url)),
      ],
      env: { ...environment, NO_COLOR: "1" },
    }).output();
    const results = parseReport(await Deno.readTextFile(report));
    const decoder = new TextDecoder();
    const output = decoder.decode(stdout) + decoder.decode(stderr);
    const failed = results.filter(({ failure }) => failure !== undefined).length;
    if (results.length === 0 || (code !== 0 && failed === 0)) {
      return [...results, { name: "the process", failure: `exit code ${code}\n${output}` }];
    }
    return results;
  } finally {
    await Deno.remove(report);
  }
}

/** The test cases of a JUnit report. */
function parseReport(xml: string): Result[] {
  const unescape = (text: string) =>
    text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&apos;/g, "'")
      .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
      .replace(/&#x([\da-f]+);/gi, (_, code) => String.fromCodePoint(parseInt(code, 16)))
      .replace(/&amp;/g, "&");
  return [...xml.matchAll(/<testcase name="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, name, body = ""]) => ({
      name: unescape(name),
      failure: /<(failure|error)\b/.test(body) ? unescape(body.trim()) : undefined,
    }),
  );
}
