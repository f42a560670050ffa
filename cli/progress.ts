import { columns, writeError } from "./terminal.ts";

const INTERVAL_MS = 50;

/** A progress bar on standard error; where that is no terminal, nothing at all. */
export class Progress implements Disposable {
  readonly #visible = Deno.stderr.isTerminal();
  #drawn = false;
  #last = -Infinity;

  /** @param label What is going on. */
  constructor(private readonly label: string) {}

  /**
   * Draws the bar, though not more often than an eye follows.
   *
   * @param note Said behind the bar.
   */
  update(done: number, total: number, note = ""): void {
    const now = performance.now();
    if (!this.#visible || (now - this.#last < INTERVAL_MS && done < total)) return;
    this.#last = now;
    const share = total > 0 ? Math.min(done / total, 1) : 1;
    const text = ` ${String(Math.floor(share * 100)).padStart(3)}%${note && ` ${note}`}`;
    const width = Math.min(40, columns() - this.label.length - text.length - 2);
    const filled = Math.round(share * width);
    const bar = width < 4 ? "" : " " + "█".repeat(filled) + "░".repeat(width - filled);
    writeError(`\r\x1b[K${this.label}${bar}${text}`);
    this.#drawn = true;
  }

  /** Takes the bar away. */
  [Symbol.dispose](): void {
    if (this.#drawn) writeError("\r\x1b[K");
    this.#drawn = false;
  }
}
