// The chart of the README: it is what its tool makes of the measurements, and legible in both schemes.
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { drawChart, pairsOf, type Palette, PALETTES } from "../../tools/chart/bars.ts";
import { Comparison } from "../../tools/chart/comparison.ts";
import { CHART, readComparison } from "../../tools/chart.ts";

Deno.test("the chart of the README is what `deno task chart` draws of the measurements", async () => {
  const drawn = drawChart(await readComparison());
  assertEquals(await Deno.readTextFile(CHART), drawn, "run `deno task chart`");
  assertStringIncludes(
    await Deno.readTextFile(new URL("../../README.md", import.meta.url)),
    "(docs/images/beside-llama-cpp.svg)",
  );
});

Deno.test("a bar is as long as its number of tokens a second, within its model", async () => {
  const comparison = await readComparison();
  const svg = drawChart(comparison);
  const widths = (kind: string) =>
    [...svg.matchAll(
      new RegExp(`<rect class="${kind}" x="[^"]+" y="[^"]+" width="([^"]+)" height="13"`, "g"),
    )]
      .map(([, width]) => Number(width));
  const m40 = widths("m40"), other = widths("other");
  const perModel = comparison.sequences.length + 1;
  for (const [index, model] of comparison.models.entries()) {
    const pairs = pairsOf(model, comparison);
    const first = index * perModel;
    const scale = m40[first + perModel - 1] / pairs[perModel - 1].m40;
    for (const [at, pair] of pairs.entries()) {
      assert(Math.abs(m40[first + at] - pair.m40 * scale) < 0.2, `${model.model} ${pair.label}`);
      assert(
        Math.abs(other[first + at] - pair.other * scale) < 0.2,
        `${model.model} ${pair.label}`,
      );
    }
  }
});

Deno.test("the chart says on its face whether an M40 was measured", async () => {
  const comparison = await readComparison();
  assertEquals(comparison.measuredOnM40, false);
  assertStringIncludes(drawChart(comparison), ">Not measured on a Tesla M40");
});

Deno.test("text has a contrast of 4.5 and bars one of 3 to the chart's background, light and dark", () => {
  for (const [scheme, palette] of Object.entries(PALETTES)) {
    const wanted: Partial<Palette> = { text: "4.5", faint: "4.5", m40: "3", other: "3" };
    for (const [name, least] of Object.entries(wanted)) {
      const ratio = contrast(palette[name as keyof Palette], palette.background);
      assert(ratio >= Number(least), `${scheme} ${name}: ${ratio.toFixed(2)}`);
    }
  }
});

Deno.test("measurements that lack a figure or have an unknown field are refused", async () => {
  const comparison = await readComparison();
  const [model] = comparison.models;
  const short = { ...model, m40: { ...model.m40, decode: [1] } };
  assertThrows(() => Comparison.parse({ ...comparison, models: [short] }));
  assertThrows(() => Comparison.parse({ ...comparison, sequence: [1] }));
});

/** The contrast ratio of two colours by WCAG 2. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
