import { assertEquals, assertThrows } from "@std/assert";
import { Histogram, Registry } from "prom-client";
import { CountedHistogram } from "./counted_histogram.ts";
import { MetricRegistry } from "./registry.ts";

Deno.test("a histogram tells what prom-client's own tells of the same values, under each of its names", async () => {
  const help = "What it\nis.";
  const buckets = [0.00005, 0.5, 1, 2.5];
  const values = [0, 0.00005, 0.4, 0.5, 0.6, 1, 2.4999, 3, -1, 1e9];
  const expected = async (name: string, labels: Record<string, string>, values: number[]) => {
    const registry = new Registry();
    registry.setDefaultLabels(labels);
    const histogram = new Histogram({ name, help, buckets, registers: [registry] });
    for (const value of values) histogram.observe(value);
    return await registry.metrics();
  };
  const registry = new MetricRegistry('a "model"');
  const histogram = registry.histogram(["m40_x", "vllm:x"], help, buckets);
  for (const observed of [[], values]) {
    for (const value of observed) histogram.observe(value);
    assertEquals(
      await registry.text(),
      [
        await expected("m40_x", { model_name: 'a "model"' }, observed),
        await expected("vllm:x", { model_name: 'a "model"', engine: "0" }, observed),
      ].join("\n"),
    );
  }
  assertThrows(() => new CountedHistogram("x", [1]).observe(NaN), TypeError, "NaN");
});
