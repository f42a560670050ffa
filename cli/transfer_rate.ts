import { formatBytes } from "./format.ts";

/** How far back the rate looks, in milliseconds. */
const WINDOW_MS = 8000;
/** The least that it is measured over. */
const LEAST_MS = 500;

/** How fast something comes and how long it will take, by what came in the last seconds. */
export class TransferRate {
  readonly #samples: { readonly at: number; readonly bytes: number }[] = [];

  /** @param now The time in milliseconds; another clock is for tests. */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Takes in how much there is.
   *
   * @returns In words: `85.2 MiB/s, 4 min left`; nothing where it is too early to tell.
   */
  update(doneBytes: number, totalBytes?: number): string {
    const at = this.now();
    const samples = this.#samples;
    // Begun anew: what came before says nothing of now.
    if (doneBytes < (samples.at(-1)?.bytes ?? 0)) samples.length = 0;
    samples.push({ at, bytes: doneBytes });
    while (samples.length > 2 && samples[1].at <= at - WINDOW_MS) samples.shift();
    const [first] = samples;
    if (at - first.at < LEAST_MS) return "";
    const bytesPerSecond = (doneBytes - first.bytes) / (at - first.at) * 1000;
    const rate = `${formatBytes(Math.round(bytesPerSecond))}/s`;
    if (totalBytes === undefined || bytesPerSecond < 1) return rate;
    return `${rate}, ${formatTime((totalBytes - doneBytes) / bytesPerSecond)} left`;
  }
}

/** A time for a person, of a few seconds or of days: `4 min`. */
export function formatTime(seconds: number): string {
  if (seconds < 99.5) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 99.5 * 60) return `${Math.round(seconds / 60)} min`;
  return `${Math.round(seconds / 3600)} h`;
}
