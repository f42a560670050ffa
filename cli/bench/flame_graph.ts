import type { OperationProfile, StepProfile } from "../../engine/mod.ts";

const WIDTH = 1600;
const ROW = 20;
const FONT = 12;
/** Of a character of the font, about. */
const CHARACTER = 7;

interface Box {
  readonly name: string;
  readonly from: number;
  readonly microseconds: number;
}

/**
 * Profiles as one SVG file that a browser opens without other files. Each is a flame graph of the step, its layers and
 * their operations in the program's order, as wide as their time. What a box is stands in its tooltip.
 */
export function flameGraph(profiles: readonly StepProfile[]): string {
  const height = 4 * ROW;
  const graphs = profiles.map((profile, i) => graphOf(profile, i * (height + ROW)));
  return `<?xml version="1.0" encoding="UTF-8"?>\n` +
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${
      profiles.length * (height + ROW)
    }" font-family="monospace" font-size="${FONT}">\n${graphs.join("")}</svg>\n`;
}

function graphOf({ measured: { kind, size, depth }, operations }: StepProfile, top: number) {
  const leaves: Box[] = [];
  const layers: Box[] = [];
  let from = 0;
  let layer: OperationProfile["layer"] | null = null;
  for (const operation of operations) {
    const { name, microseconds } = operation;
    leaves.push({ name, from, microseconds });
    const last = layers.at(-1);
    if (last && operation.layer === layer) {
      layers[layers.length - 1] = { ...last, microseconds: last.microseconds + microseconds };
    } else {
      const title = operation.layer === undefined ? "outside layers" : `layer ${operation.layer}`;
      layers.push({ name: title, from, microseconds });
      layer = operation.layer;
    }
    from += microseconds;
  }
  const title = kind === "decode" ? `decode ${size} at depth ${depth}` : `prompt of ${size}`;
  const all = { name: title, from: 0, microseconds: from };
  const rows = [[all], layers, leaves];
  return rows.map((row, i) => row.map((box) => boxMarkup(box, from, top + i * ROW)).join("")).join(
    "",
  );
}

function boxMarkup({ name, from, microseconds }: Box, all: number, top: number): string {
  const scale = all > 0 ? WIDTH / all : 0;
  const width = microseconds * scale;
  const room = Math.floor(width / CHARACTER) - 1;
  const label = room < 3 ? "" : name.length <= room ? name : `${name.slice(0, room - 1)}…`;
  const x = (from * scale).toFixed(2);
  return `<g><title>${escaped(name)}: ${microseconds.toFixed(1)} us, ${
    (all > 0 ? 100 * microseconds / all : 0).toFixed(1)
  }%</title><rect x="${x}" y="${top}" width="${width.toFixed(2)}" height="${ROW - 1}" fill="${
    colour(name)
  }"/><text x="${(Number(x) + 3).toFixed(2)}" y="${top + FONT + 2}">${escaped(label)}</text></g>\n`;
}

/** The same for the same name, out of warm ones. */
function colour(name: string): string {
  let hash = 0;
  for (const character of name) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0;
  return `hsl(${hash % 55},80%,${60 + hash % 15}%)`;
}

/** Names come from files: what XML has no place for is a question mark. */
function escaped(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\x00-\x1f\x7f\ufffe\uffff]|\p{Surrogate}/gu, "?")
    .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
