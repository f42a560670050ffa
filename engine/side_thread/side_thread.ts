import { Worker } from "node:worker_threads";
import { GENERIC, TOOL_FORMATS, type ToolUse } from "../chat/mod.ts";
import type { Metadata } from "../gguf/mod.ts";
import type { BuiltNetworks, Constraint } from "../grammar/mod.ts";
import { M40Error } from "../errors.ts";
import type { Job, PostedTools, Reply, Results, ThreadData } from "./jobs.ts";
import { postedMetadata } from "./metadata.ts";

const SIDE_WORKER = new URL("./worker.ts", import.meta.url);
/** How long one job may take by the clock, its start included, in milliseconds: limits of work end it long before. */
const JOB_LIMIT_MS = 30_000;
/** How long the idle thread is kept, in milliseconds: it has a vocabulary of its own. */
const IDLE_MS = 60_000;
/** MiB that it may hold. */
const MEMORY_LIMIT_MIB = 1024;
const MOST_WAITING = 64;

/** What limits may be, for tests. */
export interface SideLimits {
  readonly jobMs?: number;
  readonly idleMs?: number;
}

interface Waiting {
  readonly job: Job;
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (result: Results[keyof Results]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * One model's thread off the event loop, for work that requests can make long: only requests with such work wait for
 * it. It starts when it is needed, and ends when it is not.
 */
export class SideThread {
  private readonly waiting: Waiting[] = [];
  private worker?: Worker;
  private current?: Waiting;
  private limit?: number;
  private idle?: number;
  private closed = false;

  /**
   * @param metadata What the model's vocabulary is made of.
   * @param preTokenizer As the model was loaded with.
   */
  constructor(
    private readonly metadata: Metadata,
    private readonly preTokenizer?: string,
    private readonly limits: SideLimits = {},
  ) {}

  /** Whether the thread runs. */
  get runs(): boolean {
    return this.worker !== undefined;
  }

  /**
   * The networks of a constraint; undefined where it cannot be posted.
   *
   * @param unwanted Aborted when the networks are no longer wanted: work that has not begun is left out; work that
   * has goes on, as its networks are kept.
   * @throws What {@link run} throws.
   */
  build(
    constraint: Constraint,
    spaced: boolean,
    unwanted?: AbortSignal,
  ): Promise<BuiltNetworks> | undefined {
    if (constraint.kind === "made") return undefined;
    const job = { kind: "constraint", constraint: JSON.stringify(constraint), spaced } as const;
    return this.runIfWanted(job, unwanted);
  }

  /** The same of calls of tools. */
  buildTools(
    { format, tools, choice, parallel }: ToolUse,
    content: Constraint | undefined,
    spaced: boolean,
    unwanted?: AbortSignal,
  ): Promise<BuiltNetworks> | undefined {
    if (content?.kind === "made") return undefined;
    if (format !== GENERIC && !TOOL_FORMATS.includes(format)) return undefined;
    const use: PostedTools = { format: format.name, tools, choice, parallel, content };
    return this.runIfWanted({ kind: "tools", use: JSON.stringify(use), spaced } as const, unwanted);
  }

  /**
   * Does a job.
   *
   * @throws {M40Error} "invalid_request" and what else the job fails with, "queue_full" where too many wait,
   * "cancelled" where the signal or {@link close} ends it, "internal" where the thread fails.
   */
  run<J extends Job>(
    job: J,
    signal?: AbortSignal,
    transfer: readonly ArrayBuffer[] = [],
  ): Promise<Results[J["kind"]]> {
    if (signal?.aborted) return Promise.reject(abortError());
    const one = this.queue(job, transfer);
    // Work that has begun goes on without being awaited.
    return until(one.promise, signal, () => {
      this.drop(one);
      one.reject(abortError());
    });
  }

  private runIfWanted<J extends Job>(job: J, unwanted?: AbortSignal): Promise<Results[J["kind"]]> {
    const one = this.queue(job);
    return until(one.promise, unwanted, () => {
      if (this.drop(one)) one.reject(abortError());
    });
  }

  private queue<J extends Job>(
    job: J,
    transfer: readonly ArrayBuffer[] = [],
  ): Waiting & { readonly promise: Promise<Results[J["kind"]]> } {
    const { promise, resolve, reject } = Promise.withResolvers<Results[keyof Results]>();
    const one = { job, transfer, resolve, reject, promise: promise as Promise<Results[J["kind"]]> };
    if (this.closed) {
      reject(closedError());
    } else if (this.waiting.length >= MOST_WAITING) {
      reject(
        new M40Error("queue_full", `${MOST_WAITING} requests wait for their grammars or tokens`),
      );
    } else {
      this.waiting.push(one);
      this.next();
    }
    return one;
  }

  /** Leaves out what waits; false where it has begun. */
  private drop(one: Waiting): boolean {
    const at = this.waiting.indexOf(one);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }

  /** Ends the thread; what it does and what waits is cancelled. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(closedError());
    await this.end(closedError());
  }

  private next(): void {
    if (this.current !== undefined) return;
    const one = this.waiting.shift();
    if (one === undefined) return this.rest();
    clearTimeout(this.idle);
    this.current = one;
    const worker = this.worker ??= this.start();
    const { jobMs = JOB_LIMIT_MS } = this.limits;
    this.limit = setTimeout(() => this.end(tookTooMuch(`${jobMs / 1000} s`)), jobMs);
    worker.ref();
    worker.postMessage(one.job, [...one.transfer]);
  }

  private start(): Worker {
    const threadData: ThreadData = {
      metadata: postedMetadata(this.metadata),
      preTokenizer: this.preTokenizer,
    };
    const worker = new Worker(SIDE_WORKER, {
      workerData: threadData,
      resourceLimits: { maxOldGenerationSizeMb: MEMORY_LIMIT_MIB },
    });
    worker.on("message", (reply: Reply) => {
      if (this.worker !== worker) return;
      const one = this.settle();
      if ("result" in reply) one?.resolve(reply.result);
      else one?.reject(new M40Error(reply.code, reply.message, reply.param));
      this.next();
    });
    worker.on("error", (error: Error & { code?: string }) => {
      if (this.worker !== worker) return;
      this.end(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? tookTooMuch(`${MEMORY_LIMIT_MIB} MiB of memory`)
          : threadError(error.message),
      );
    });
    worker.on("exit", () => {
      if (this.worker === worker) this.end(threadError("it ended"));
    });
    return worker;
  }

  /** The job that is done, taken off. */
  private settle(): Waiting | undefined {
    clearTimeout(this.limit);
    const { current } = this;
    this.current = undefined;
    return current;
  }

  /** No work is left: a program without other work ends, although the thread runs. */
  private rest(): void {
    this.worker?.unref();
    clearTimeout(this.idle);
    if (this.worker === undefined) return;
    this.idle = setTimeout(() => this.end(closedError()), this.limits.idleMs ?? IDLE_MS);
    Deno.unrefTimer(this.idle);
  }

  private async end(reason: M40Error): Promise<void> {
    clearTimeout(this.idle);
    const { worker } = this;
    this.worker = undefined;
    this.settle()?.reject(reason);
    if (!this.closed) this.next();
    await worker?.terminate();
  }
}

/** A promise, and what is done where a signal is aborted before it is settled. */
function until<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  left: () => void,
): Promise<T> {
  signal?.addEventListener("abort", left, { once: true });
  return promise.finally(() => signal?.removeEventListener("abort", left));
}

function closedError(): M40Error {
  return new M40Error("cancelled", "the engine is closed");
}

function abortError(): M40Error {
  return new M40Error("cancelled", "the request was cancelled");
}

function tookTooMuch(what: string): M40Error {
  return new M40Error(
    "invalid_request",
    `the grammar or text of the request took more than ${what} and was given up; send less`,
  );
}

function threadError(reason: string): M40Error {
  return new M40Error("internal", `the thread off the event loop failed: ${reason}`);
}
