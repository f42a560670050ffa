export { formatCount } from "../../engine/format_count.ts";

/** A number of bytes for a person: `7.9 MiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1023.95 && unit < units.length - 1) {
    bytes /= 1024;
    unit++;
  }
  return `${unit === 0 ? bytes : bytes.toFixed(1)} ${units[unit]}`;
}

/** What a card has of a model whose products' rows are split: `50% of each layer's rows`. */
export function formatRowShare(share: number): string {
  return `${Math.round(100 * share)}% of each layer's rows`;
}

/** A time for a person: `8 s`, `3 min 5 s`, `2 h 10 min`, `3 d 4 h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (!Number.isFinite(whole) || whole >= 100 * 86400) return "more than 100 d";
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]] as const;
  const largest = units.findIndex(([length]) => whole >= length);
  if (largest < 0) return "0 s";
  const [length, name] = units[largest];
  const parts = [`${Math.floor(whole / length)} ${name}`];
  const next = units[largest + 1];
  const rest = next && Math.floor(whole % length / next[0]);
  if (next && rest) parts.push(`${rest} ${next[1]}`);
  return parts.join(" ");
}

/** Rows as lines, the columns aligned: to the left, or to the right where `right` has their index. */
export function formatTable(rows: readonly (readonly string[])[], right: number[] = []): string {
  // Not Math.max(...): a table may have more rows than a call takes arguments.
  const widths = rows[0].map((_, column) =>
    rows.reduce((width, row) => Math.max(width, row[column].length), 0)
  );
  const lines = rows.map((row) =>
    row.map((cell, column) =>
      right.includes(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])
    ).join("  ").trimEnd()
  );
  return lines.join("\n") + "\n";
}

/**
 * A float32 in the fewest digits that read back as the same float32; null where JSON has no number.
 *
 * A float32 that has a form of six digits or fewer is the nearest one to it, so six digits are tried
 * first; nine always suffice. Below 2^-126 a float32 has less precision, and the search starts at one.
 */
export function shortestFloat32(value: number): string {
  if (!Number.isFinite(value)) return "null";
  for (let digits = Math.abs(value) < 2 ** -126 ? 1 : 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short);
  }
  return String(Number(value.toPrecision(9)));
}
