import { createHash } from "node:crypto";
import { M40Error } from "../../errors.ts";
import { systemReason } from "../../system_error.ts";
import type { HashReply, HashRequest } from "./hash_worker.ts";

/** What is worth a thread of its own, in bytes. */
const THREAD_BYTES = 8 * 2 ** 20;
/** How often the thread is notified how far it may go, in bytes. */
const REPORT_BYTES = 4 * 2 ** 20;
const BUFFER_BYTES = 2 ** 20;

/**
 * The SHA-256 of a file that is still being written, in any order. A thread follows the bytes from the first one on,
 * and reads them back while the system still has them in memory. So a file that is resumed is hashed while the rest is
 * fetched, and connections may be many.
 */
export class FileHash implements Disposable {
  #worker: Worker | undefined;
  #reply: PromiseWithResolvers<string> | undefined;
  #reported = 0;

  constructor(private readonly path: string) {}

  /** The bytes before `end` are there, and will not change. */
  upTo(end: number): void {
    if (end < THREAD_BYTES || end - this.#reported < REPORT_BYTES) return;
    this.#worker ??= this.#start();
    this.#report(end, false);
  }

  /**
   * The hash of the first `bytes` bytes, in lower-case hexadecimal digits.
   *
   * @throws {M40Error} `io` where the file cannot be read.
   */
  async digest(bytes: number, signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    if (this.#worker === undefined && bytes < THREAD_BYTES) return await this.#hashHere(bytes);
    this.#worker ??= this.#start();
    this.#reply ??= Promise.withResolvers<string>();
    const { promise, reject } = this.#reply;
    const stop = () => reject(signal?.reason);
    signal?.addEventListener("abort", stop);
    this.#report(bytes, true);
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  [Symbol.dispose](): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #report(upTo: number, last: boolean): void {
    this.#reported = upTo;
    const request: HashRequest = { path: this.path, upTo, last };
    this.#worker?.postMessage(request);
  }

  #start(): Worker {
    const worker = new Worker(new URL("./hash_worker.ts", import.meta.url), { type: "module" });
    const reply = Promise.withResolvers<string>();
    // It is heard by digest(); a download that fails before that has an error of its own.
    reply.promise.catch(() => {});
    this.#reply = reply;
    worker.onmessage = ({ data }: MessageEvent<HashReply>) => {
      if ("sha256" in data) reply.resolve(data.sha256);
      else reply.reject(unreadable(this.path, data.error));
    };
    worker.onerror = (event) => {
      event.preventDefault();
      reply.reject(unreadable(this.path, event.message));
    };
    return worker;
  }

  async #hashHere(bytes: number): Promise<string> {
    try {
      using file = await Deno.open(this.path);
      const hash = createHash("sha256");
      const buffer = new Uint8Array(BUFFER_BYTES);
      for (let done = 0; done < bytes;) {
        const count = await file.read(buffer.subarray(0, Math.min(buffer.length, bytes - done)));
        if (count === null) throw new Error(`it ends after ${done} bytes; wanted ${bytes}`);
        hash.update(buffer.subarray(0, count));
        done += count;
      }
      return hash.digest("hex");
    } catch (error) {
      throw unreadable(this.path, systemReason(error));
    }
  }
}

function unreadable(path: string, reason: string): M40Error {
  return new M40Error("io", `${path} cannot be read back to be hashed: ${reason}`);
}
