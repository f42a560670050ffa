/** A count for a person: `1.2B` for 1 235 814 432, `951` for 951. */
export function formatCount(count: number): string {
  for (const [size, letter] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]] as const) {
    // Three digits, and no 1000K where 1.00M is meant.
    if (count >= size * 0.9995) return `${(count / size).toPrecision(3)}${letter}`;
  }
  return String(count);
}
