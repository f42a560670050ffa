import { standardError } from "../../server/output/mod.ts";
import { columns, isDumb, printable } from "./terminal.ts";

const INTERVAL_MS = 50;
/** How long a terminal that takes nothing (Ctrl-S) is waited for, in milliseconds. */
const FLUSH_MS = 1000;
/** Lines that a terminal gets where output cannot be overwritten. */
const LINES = 4;

/**
 * A progress bar on standard error: lines now and then where the terminal is a dumb one, and where it
 * is none, nothing at all. What it cannot write, it leaves.
 */
export class Progress implements AsyncDisposable {
  readonly #visible = Deno.stderr.isTerminal();
  readonly #inLines = isDumb();
  #isDrawn = false;
  private readonly label: string;
  #last = -Infinity;
  #lines = 0;

  /** @param label What is going on. */
  constructor(label: string) {
    this.label = printable(label);
  }

  /**
   * Draws the bar, at most as often as an eye follows.
   *
   * @param total How much there is to do; Infinity where it is unknown.
   * @param note Said behind the bar.
   */
  update(done: number, total: number, note = ""): void {
    if (!this.#visible) return;
    const share = total > 0 ? Math.min(done / total, 1) : 1;
    const known = total !== Infinity;
    const percent = known ? ` ${String(Math.floor(share * 100)).padStart(3)}%` : "";
    const text = `${percent}${note && ` ${note}`}`;
    if (this.#inLines) this.#line(share, text);
    else this.#bar(share, text, known);
  }

  #bar(share: number, text: string, known: boolean): void {
    const now = performance.now();
    if (standardError.busy || (now - this.#last < INTERVAL_MS && share < 1)) return;
    this.#last = now;
    const width = Math.min(40, columns() - this.label.length - text.length - 2);
    const filled = Math.round(share * width);
    const bar = width < 4 || !known ? "" : " " + "█".repeat(filled) + "░".repeat(width - filled);
    // A line that wraps could not be overwritten.
    const line = `${this.label}${bar}${text}`.slice(0, Math.max(columns() - 1, 1));
    standardError.say(`\r\x1b[K${line}`);
    this.#isDrawn = true;
  }

  #line(share: number, text: string): void {
    const lines = Math.floor(share * LINES);
    if (lines <= this.#lines) return;
    this.#lines = lines;
    standardError.say(`${this.label}${text}\n`);
  }

  /** Takes the bar away; what was said meanwhile is out before what comes next. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isDrawn) standardError.say("\r\x1b[K");
    this.#isDrawn = false;
    await standardError.flush(FLUSH_MS);
  }
}
