import { delay } from "@std/async/delay";
import { M40Error } from "../../engine/errors.ts";
import { systemReason } from "../../engine/system_error.ts";
import { LineBufferedOutput, type Sink } from "./line_buffered_output.ts";
import { exportsLogs } from "./telemetry.ts";
import { within } from "../../engine/within.ts";

/** A stream was closed by its reader, as `m40 … | head` does; a command then ends quietly. */
export class ClosedOutput extends Error {
  override readonly name = "ClosedOutput";
}

/** The most that {@link OutputStream.say} holds for a reader that is slow, in bytes. */
const MOST_HELD_BYTES = 64 * 1024;
/** Pauses between two tries to write to a stream that takes nothing, in milliseconds. */
const FIRST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 50;

const encoder = new TextEncoder();

/**
 * Standard output or standard error, written off the event loop: a reader that is slow or gone delays only the callers
 * that wait for {@link write}. What is written comes out in order and whole, also where the stream is nonblocking:
 * pipes and terminals are when another program made them so.
 */
export class OutputStream {
  /** Settles, and never fails, when everything so far is written or given up. */
  private last: Promise<void> = Promise.resolve();
  private held = 0;

  /**
   * @param name What it is called in errors.
   * @param log Exports what is said as a log.
   */
  constructor(
    private readonly sink: Sink,
    private readonly name: string,
    private readonly log: (text: string) => void,
  ) {}

  /** Whether something still waits to be written. */
  get busy(): boolean {
    return this.held > 0;
  }

  /**
   * Writes all of a text; resolves when it is written.
   *
   * @throws {ClosedOutput} Where its reader is gone.
   * @throws {M40Error} "io" where it cannot be written for another reason.
   */
  async write(text: string | Uint8Array): Promise<void> {
    const bytes = typeof text === "string" ? encoder.encode(text) : text;
    const before = this.last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = promise;
    this.held += bytes.length;
    try {
      await before;
      await this.writeAll(bytes);
    } finally {
      this.held -= bytes.length;
      resolve();
    }
  }

  /**
   * Writes a text without waiting: text that cannot be written, or is too much for a slow reader, is lost. Where logs
   * are exported, it is one of them.
   */
  say(text: string): void {
    if (exportsLogs) this.log(text.trimEnd());
    if (this.held < MOST_HELD_BYTES) this.write(text).catch(() => {});
  }

  /** Waits until everything is written or given up, but no longer than this. */
  async flush(milliseconds: number): Promise<void> {
    await within(milliseconds, this.last);
  }

  private async writeAll(bytes: Uint8Array): Promise<void> {
    let pause = FIRST_PAUSE_MS;
    for (let done = 0; done < bytes.length;) {
      try {
        done += await this.sink.write(bytes.subarray(done));
        pause = FIRST_PAUSE_MS;
      } catch (error) {
        if (error instanceof Deno.errors.BrokenPipe) {
          throw new ClosedOutput(`${this.name} is closed`);
        }
        if (!(error instanceof Deno.errors.WouldBlock)) {
          throw new M40Error("io", `${this.name} cannot be written: ${systemReason(error)}`);
        }
        // A nonblocking stream is full. Nothing reports when it no longer is.
        await delay(pause);
        pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
      }
    }
  }
}

/** The program's standard output. */
export const standardOutput: OutputStream = new OutputStream(
  new LineBufferedOutput(Deno.stdout),
  "standard output",
  console.info,
);
/** The program's standard error. */
export const standardError: OutputStream = new OutputStream(
  Deno.stderr,
  "standard error",
  console.warn,
);
