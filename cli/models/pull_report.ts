import { formatBytes, printable, style, TransferProgress, write } from "../terminal/mod.ts";
import type { DownloadProgress } from "../../engine/store/mod.ts";
import type { Pulled, PullStart } from "../../engine/store/pull/mod.ts";
import { standardError } from "../../server/output/mod.ts";

/** Time between two lines of JSON that say how far it is, in milliseconds. */
const JSON_INTERVAL_MS = 500;

/** Says how a pull goes: in sentences and a bar on standard error, or as JSON on standard output. */
export class PullReport implements AsyncDisposable {
  #bar?: TransferProgress;
  #last = -Infinity;
  #lines = Promise.resolve();

  /**
   * @param json Whether a program reads it.
   * @param aside Whether standard output is for something else, as an answer that is to come.
   */
  constructor(private readonly json: boolean, private readonly aside = false) {}

  note(sentence: string): void {
    if (this.json) this.#line({ status: "note", note: sentence });
    else standardError.say(`${style(Deno.stderr, "yellow", "note:")} ${printable(sentence)}\n`);
  }

  start({ name, source, files, bytes }: PullStart): void {
    if (this.json) {
      this.#line({ status: "fetching", name, source, files, total_bytes: bytes });
      return;
    }
    const size = bytes === undefined ? "" : `, ${formatBytes(bytes)}`;
    const parts = files > 1 ? ` in ${files} files` : "";
    standardError.say(`${printable(source)}${size}${parts}, as ${name}\n`);
    this.#bar = new TransferProgress(name);
  }

  progress({ doneBytes, totalBytes, note }: DownloadProgress): void {
    if (!this.json) return this.#bar?.update(doneBytes, totalBytes, note);
    const now = performance.now();
    if (now - this.#last < JSON_INTERVAL_MS && doneBytes !== totalBytes) return;
    this.#last = now;
    this.#line({ status: "fetching", done_bytes: doneBytes, total_bytes: totalBytes, note });
  }

  async done({ name, source, outcome, files }: Pulled): Promise<void> {
    await this.#end();
    if (this.json) {
      this.#line({ status: "done", name, source, outcome, files });
      return await this.#lines;
    }
    const bytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
    const size = formatBytes(bytes);
    const sentence = {
      present: `${name} is there already, and what its source has (${size}).`,
      fetched: `${name} is there (${size}).`,
      linked: `${name} is there: its file was on this machine already (${size}).`,
      copied: `${name} is there, a copy of ${source} (${size}).`,
    }[outcome];
    if (this.aside) standardError.say(`${printable(sentence)}\n`);
    else await write(`${printable(sentence)}\n`);
  }

  async interrupted(): Promise<void> {
    await this.#end();
    if (this.json) this.#line({ status: "interrupted" });
    else standardError.say("Interrupted; the same command goes on where it was.\n");
    await this.#lines;
  }

  async #end(): Promise<void> {
    await this.#bar?.[Symbol.asyncDispose]();
    this.#bar = undefined;
  }

  #line(value: unknown): void {
    this.#lines = this.#lines.then(() => write(JSON.stringify(value) + "\n"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
    await this.#lines;
  }
}
