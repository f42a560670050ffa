import { Worker } from "node:worker_threads";
import { M40Error } from "../errors.ts";
import type { RenderJob, RenderReply } from "./render_job.ts";

/** Milliseconds that one rendering may take. */
const TIME_LIMIT_MS = 1000;
/** Milliseconds in which a thread has to be there. */
const START_LIMIT_MS = 30_000;
/** MiB that a thread may hold. */
const MEMORY_LIMIT_MIB = 256;

interface Waiting {
  readonly job: RenderJob;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Renders templates in a thread of its own, one after the other. A template is somebody else's program:
 * one that takes too long or too much loses its thread, and those that wait get another.
 */
export class TemplateRenderer {
  private readonly waiting: Waiting[] = [];
  private current?: Waiting;
  private worker?: Worker;
  /** Whether the thread takes jobs. */
  private ready = false;
  private timer?: number;
  private closed = false;

  /**
   * The text that a template gives.
   *
   * @throws {M40Error} "invalid_request" where the template fails or takes too much, "cancelled" where
   * the signal or {@link close} ends it, "internal" where no thread can be had.
   */
  render(job: RenderJob, signal?: AbortSignal): Promise<string> {
    if (this.closed) return Promise.reject(cancelled("the engine is closed"));
    if (signal?.aborted) return Promise.reject(cancelled("the request was cancelled"));
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const waiting = { job, resolve, reject };
    const abort = () => {
      const place = this.waiting.indexOf(waiting);
      if (place >= 0) this.waiting.splice(place, 1);
      reject(cancelled("the request was cancelled"));
    };
    signal?.addEventListener("abort", abort);
    this.waiting.push(waiting);
    this.next();
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  /** Ends the thread; what waits is cancelled. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(cancelled("the engine is closed"));
    this.settle()?.reject(cancelled("the engine is closed"));
    await this.end();
  }

  private next(): void {
    if (this.current !== undefined || this.closed) return;
    if (this.waiting.length === 0) return;
    if (this.worker === undefined) this.start();
    if (!this.ready) return;
    this.current = this.waiting.shift()!;
    this.timer = setTimeout(
      () => this.lose(tooMuch(`more than ${TIME_LIMIT_MS} ms`)),
      TIME_LIMIT_MS,
    );
    this.worker!.postMessage(this.current.job);
  }

  private start(): void {
    const worker = new Worker(new URL("./template_worker.ts", import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_LIMIT_MIB },
    });
    worker.unref();
    this.worker = worker;
    this.timer = setTimeout(() => this.lose(noThread("it did not start in time")), START_LIMIT_MS);
    worker.on("message", (message: "ready" | RenderReply) => {
      if (worker !== this.worker) return;
      if (message === "ready") {
        clearTimeout(this.timer);
        this.ready = true;
      } else {
        const done = this.settle();
        if ("text" in message) done?.resolve(message.text);
        else done?.reject(new M40Error("invalid_request", message.error, "messages"));
      }
      this.next();
    });
    worker.on("error", (error: Error & { code?: string }) => {
      if (worker !== this.worker) return;
      this.lose(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? tooMuch(`more than ${MEMORY_LIMIT_MIB} MiB of memory`)
          : noThread(error.message),
      );
    });
    worker.on("exit", () => {
      if (worker === this.worker) this.lose(noThread("it ended"));
    });
  }

  /** The thread is of no use any more: whom it worked for fails, or all where it never took a job. */
  private lose(error: M40Error): void {
    const failed = this.ready ? [this.settle()] : this.waiting.splice(0);
    for (const one of failed) one?.reject(error);
    void this.end();
    this.next();
  }

  private settle(): Waiting | undefined {
    clearTimeout(this.timer);
    const { current } = this;
    this.current = undefined;
    return current;
  }

  private async end(): Promise<void> {
    clearTimeout(this.timer);
    const { worker } = this;
    this.worker = undefined;
    this.ready = false;
    await worker?.terminate();
  }
}

function cancelled(reason: string): M40Error {
  return new M40Error("cancelled", reason);
}

function tooMuch(what: string): M40Error {
  return new M40Error(
    "invalid_request",
    `the chat template took ${what} for this conversation and was ended. Send fewer messages, or choose ` +
      "another template (--chat-template).",
    "messages",
  );
}

function noThread(reason: string): M40Error {
  return new M40Error("internal", `the thread that renders chat templates failed: ${reason}`);
}
