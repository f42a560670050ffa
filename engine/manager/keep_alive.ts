const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** How {@link parseKeepAlive} wants a time, as it completes "wanted …". */
export const KEEP_ALIVE_WANTED =
  'seconds or a time such as "5m" or "1h30m"; 0 unloads at once, -1 never';

/**
 * How long an unused model stays in memory, in milliseconds, as Ollama's clients write it: seconds, or numbers with
 * units (`300ms`, `5m`, `1h30m`). A negative value is Infinity: for ever.
 *
 * @returns undefined for what is neither.
 */
export function parseKeepAlive(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? forever(value * 1000) : undefined;
  if (typeof value !== "string" || value.length > 40) return undefined;
  const text = value.trim();
  if (/^[+-]?(\d+(?:\.\d*)?|\.\d+)$/.test(text)) return forever(Number(text) * 1000);
  const match = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ms|s|m|h))+)$/.exec(text);
  if (match === null) return undefined;
  let milliseconds = 0;
  for (const [, count, unit] of match[2].matchAll(/([\d.]+)(ms|s|m|h)/gy)) {
    milliseconds += Number(count) * UNITS[unit];
  }
  return forever(match[1] === "-" ? -milliseconds : milliseconds);
}

function forever(milliseconds: number): number {
  return milliseconds < 0 ? Infinity : milliseconds;
}
