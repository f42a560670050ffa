/**
 * Draws the chart of the README: `docs/images/beside-llama-cpp.svg` out of
 * `docs/measurements/beside-llama-cpp.json`.
 *
 * `deno task chart`
 *
 * @module
 */
import { fromFileUrl } from "@std/path";
import { drawChart } from "./chart/bars.ts";
import { Comparison } from "./chart/comparison.ts";

export const MEASUREMENTS: string = fromFileUrl(
  new URL("../docs/measurements/beside-llama-cpp.json", import.meta.url),
);
export const CHART: string = fromFileUrl(
  new URL("../docs/images/beside-llama-cpp.svg", import.meta.url),
);

/**
 * Reads the measurements.
 *
 * @throws {z.ZodError} where the file lacks something or has a field too many
 */
export async function readComparison(path: string = MEASUREMENTS): Promise<Comparison> {
  return Comparison.parse(JSON.parse(await Deno.readTextFile(path)));
}

if (import.meta.main) {
  await Deno.writeTextFile(CHART, drawChart(await readComparison()));
  console.log(CHART);
}
