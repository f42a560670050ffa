import { standardError } from "../../server/output/mod.ts";
import { formatBytes, formatDuration } from "./format.ts";
import { Progress } from "./progress.ts";
import { isDumb, printable } from "./terminal.ts";

/** How far back the rate looks, in milliseconds: over less it jumps, over more it lags behind. */
const RATE_MS = 8000;
/** The shortest time that says anything about a rate, in milliseconds. */
const LEAST_MS = 1000;
/** Between two lines where output cannot be overwritten, in milliseconds. */
const LINE_MS = 5000;
/** The same where there is something new to say. */
const NOTE_MS = 1000;

/** How fast something goes, by what was done in the last seconds. */
export class TransferRate {
  /** What was done when, oldest first; the first two may be on both sides of the time looked back to. */
  #samples: { ms: number; bytes: number }[] = [];

  /** @param ms When. @param bytes How much was done by then. */
  add(ms: number, bytes: number): void {
    const last = this.#samples.at(-1);
    // Started again: what was before says nothing about what comes.
    if (last !== undefined && bytes < last.bytes) this.#samples = [];
    // Ten a second are enough; the newest is always kept, as it says where we are.
    const before = this.#samples.at(-2);
    if (before !== undefined && last !== undefined && ms - before.ms < 100) this.#samples.pop();
    this.#samples.push({ ms, bytes });
    while (this.#samples.length > 2 && this.#samples[1].ms <= ms - RATE_MS) this.#samples.shift();
  }

  /** Bytes a second; undefined where it is too early to say. */
  get bytesPerSecond(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.ms - first.ms < LEAST_MS) {
      return undefined;
    }
    return (last.bytes - first.bytes) / ((last.ms - first.ms) / 1000);
  }
}

/**
 * How far something is in words: `1.2 GiB of 4.1 GiB, 110.3 MiB/s, 27 s left`.
 *
 * @param note Said instead of the time left: why it does not go on.
 */
export function describeTransfer(
  doneBytes: number,
  totalBytes: number | undefined,
  bytesPerSecond: number | undefined,
  note?: string,
): string {
  const parts = [
    formatBytes(doneBytes) + (totalBytes === undefined ? "" : ` of ${formatBytes(totalBytes)}`),
  ];
  if (bytesPerSecond !== undefined) parts.push(`${formatBytes(Math.round(bytesPerSecond))}/s`);
  if (note !== undefined) parts.push(printable(note));
  else if (totalBytes !== undefined && bytesPerSecond && doneBytes < totalBytes) {
    parts.push(`${formatDuration((totalBytes - doneBytes) / bytesPerSecond)} left`);
  }
  return parts.join(", ");
}

/**
 * Says on standard error how a download goes: a bar with rate and time left on a terminal that can draw one, else a
 * line every few seconds.
 */
export class TransferProgress implements AsyncDisposable {
  readonly #bar: Progress | undefined;
  readonly #rate = new TransferRate();
  #saidAt: number;
  #said: string | undefined;

  /**
   * @param label What is fetched.
   * @param say Where lines go; where it is given, there are lines and no bar.
   */
  constructor(
    private readonly label: string,
    private readonly say?: (text: string) => void,
    private readonly now: () => number = () => performance.now(),
  ) {
    if (say === undefined && Deno.stderr.isTerminal() && !isDumb()) this.#bar = new Progress(label);
    this.#saidAt = now();
  }

  /** @param note Why it does not go on. */
  update(doneBytes: number, totalBytes?: number, note?: string): void {
    const now = this.now();
    this.#rate.add(now, doneBytes);
    if (this.#bar === undefined && now - this.#saidAt < this.#pause(note)) return;
    const text = describeTransfer(doneBytes, totalBytes, this.#rate.bytesPerSecond, note);
    if (this.#bar !== undefined) return this.#bar.update(doneBytes, totalBytes ?? Infinity, text);
    [this.#saidAt, this.#said] = [now, note];
    const share = totalBytes ? ` (${Math.floor(doneBytes / totalBytes * 100)}%)` : "";
    const line = `${this.label}: ${text}${share}\n`;
    if (this.say === undefined) standardError.say(line);
    else this.say(line);
  }

  /** How long after a line there is none. */
  #pause(note: string | undefined): number {
    return note !== undefined && note !== this.#said ? NOTE_MS : LINE_MS;
  }

  /** Takes the bar away. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#bar?.[Symbol.asyncDispose]();
  }
}
