/**
 * Draws bar charts of tokens a second, as SVG that is legible on a light page and on a dark one.
 *
 * @module
 */
import type { Comparison, ModelComparison } from "./comparison.ts";

/** The colours of a scheme. Text and bars are on `background`, which the chart paints itself. */
export interface Palette {
  readonly background: string;
  readonly text: string;
  readonly faint: string;
  readonly m40: string;
  readonly other: string;
}

/** The chart's own background keeps it legible where a page and its reader's system differ in their scheme. */
export const PALETTES: Readonly<Record<"light" | "dark", Palette>> = {
  light: {
    background: "#ffffff",
    text: "#1f2328",
    faint: "#59636e",
    m40: "#0a7d45",
    other: "#8c959f",
  },
  dark: {
    background: "#0d1117",
    text: "#f0f6fc",
    faint: "#9198a1",
    m40: "#3fb950",
    other: "#6e7681",
  },
};

const WIDTH = 840;
const MARGIN = 20;
const GAP = 24;
const LABEL_WIDTH = 82;
/** What a number and a factor take behind the longest bar. */
const NUMBER_WIDTH = 66;
const BAR = 13;
/** From the first bar of a group to the first of the next. */
const GROUP = 40;
const FIRST_GROUP = 112;

/** One pair of bars. */
interface Pair {
  readonly label: string;
  readonly m40: number;
  readonly other: number;
}

/**
 * Draws a comparison.
 *
 * @returns the text of an SVG file, the same for the same comparison
 */
export function drawChart(comparison: Comparison): string {
  const { models } = comparison;
  const panel = (WIDTH - 2 * MARGIN - GAP * (models.length - 1)) / models.length;
  const groups = comparison.sequences.length + 1;
  const bottom = FIRST_GROUP + groups * GROUP + 12;
  const notes = comparison.notes ?? [];
  const height = bottom + notes.length * 18 + 12;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escape(comparison.title)}</title>`,
    `<desc id="description">${escape(describe(comparison))}</desc>`,
    `<style>${style()}</style>`,
    `<rect class="background" width="${WIDTH}" height="${height}" rx="8"/>`,
    text(MARGIN, 32, "heading", comparison.title),
    ...legend(comparison),
    ...models.flatMap((model, index) =>
      drawModel(model, comparison, MARGIN + index * (panel + GAP), panel)
    ),
    ...notes.map((note, index) => text(MARGIN, bottom + 8 + index * 18, "faint", note)),
    "</svg>",
  ];
  return parts.join("\n") + "\n";
}

/** The pairs of a model: decoded tokens by number of sequences, then the prompt's. */
export function pairsOf(model: ModelComparison, comparison: Comparison): Pair[] {
  const decode = comparison.sequences.map((count, index) => ({
    label: count === 1 ? "1 answer" : `${count} answers`,
    m40: model.m40.decode[index],
    other: model["llama.cpp"].decode[index],
  }));
  const prompt = { label: "prompt", m40: model.m40.prefill, other: model["llama.cpp"].prefill };
  return [...decode, prompt];
}

function drawModel(
  model: ModelComparison,
  comparison: Comparison,
  left: number,
  width: number,
): string[] {
  const pairs = pairsOf(model, comparison);
  const longest = Math.max(...pairs.flatMap(({ m40, other }) => [m40, other]));
  const scale = (width - LABEL_WIDTH - NUMBER_WIDTH) / longest;
  const from = left + LABEL_WIDTH;
  return [
    text(left, 92, "model", `${model.model}, ${model.type}`),
    ...pairs.flatMap(({ label, m40, other }, index) => {
      const top = FIRST_GROUP + index * GROUP;
      const factor = `${(m40 / other).toFixed(1)}×`;
      return [
        text(left, top + BAR + 4, "label", label),
        bar("m40", from, top, m40 * scale),
        `<text class="number" x="${round(from + m40 * scale + 5)}" y="${top + 11}">${
          Math.round(m40)
        } <tspan class="factor">${factor}</tspan></text>`,
        bar("other", from, top + BAR + 1, other * scale),
        text(from + other * scale + 5, top + BAR + 12, "faint", String(Math.round(other))),
      ];
    }),
  ];
}

function legend({ promptTokens }: Comparison): string[] {
  return [
    `<rect class="m40" x="${MARGIN}" y="48" width="12" height="12" rx="2"/>`,
    text(MARGIN + 18, 58, "label", "m40"),
    `<rect class="other" x="${MARGIN + 62}" y="48" width="12" height="12" rx="2"/>`,
    text(MARGIN + 80, 58, "label", "llama.cpp"),
    text(
      MARGIN + 160,
      58,
      "faint",
      `tokens per second: all answers together, and a prompt of ${promptTokens} tokens; each model has its own scale`,
    ),
  ];
}

function bar(kind: "m40" | "other", x: number, y: number, width: number): string {
  return `<rect class="${kind}" x="${round(x)}" y="${y}" width="${
    round(width)
  }" height="${BAR}" rx="2"/>`;
}

function text(x: number, y: number, kind: string, content: string): string {
  return `<text class="${kind}" x="${round(x)}" y="${round(y)}">${escape(content)}</text>`;
}

/** What the bars say, for screen readers. */
function describe(comparison: Comparison): string {
  return comparison.models.map((model) => {
    const pairs = pairsOf(model, comparison)
      .map(({ label, m40, other }) => `${label} ${Math.round(m40)} against ${Math.round(other)}`);
    return `${model.model}: ${pairs.join(", ")}.`;
  }).join(" ");
}

function style(): string {
  const { light, dark } = PALETTES;
  const colours = (palette: Palette) =>
    `.background{fill:${palette.background}}text{fill:${palette.text}}` +
    `.faint{fill:${palette.faint}}.m40{fill:${palette.m40}}.other{fill:${palette.other}}`;
  return "text{font:12px -apple-system,'Segoe UI',Helvetica,Arial,sans-serif}" +
    ".heading{font-size:18px;font-weight:600}.model{font-size:14px;font-weight:600}" +
    ".factor{font-weight:600}" + colours(light) +
    `@media(prefers-color-scheme:dark){${colours(dark)}}`;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escape(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
