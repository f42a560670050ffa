import { Worker } from "node:worker_threads";
import { M40Error } from "../errors.ts";
import { msOfThread, WorkClock } from "./jinja/work_clock.ts";
import { postedJob } from "./posted_job.ts";
import type { RenderJob, RenderReply } from "./render_job.ts";

/** Milliseconds of a processor that one rendering may take. The thread itself gives up earlier where it can. */
const TIME_LIMIT_MS = 1000;
/** Milliseconds that it may take by the clock, on a machine with other work. */
const CLOCK_LIMIT_MS = 10_000;
/** Milliseconds more, for an answer that has come while this thread was busy itself. */
const GRACE_MS = 50;
/** Milliseconds in which a thread has to be there. */
const START_LIMIT_MS = 30_000;
/** MiB that a thread may hold of values that have grown old, and of young ones. */
const MEMORY_LIMIT_MIB = 192;
const YOUNG_MEMORY_MIB = 16;

/** The module that threads run. */
export const TEMPLATE_WORKER = new URL("./template_worker.ts", import.meta.url);

/** That the thread is there, and what `threadFolder` says of it. */
interface Ready {
  readonly thread?: string;
}

type Message = Ready | RenderReply;

/** A thread that renders templates. It does one job at a time. */
export class TemplateThread {
  private readonly worker: Worker;
  /** The caller that waits for the next message. */
  private waiting?: PromiseWithResolvers<Message>;
  /** Why there will be no message any more. */
  private reason?: M40Error;
  /** Milliseconds of a processor that it has had. */
  private used?: () => number;

  private constructor(module: URL) {
    this.worker = new Worker(module, {
      resourceLimits: {
        maxOldGenerationSizeMb: MEMORY_LIMIT_MIB,
        maxYoungGenerationSizeMb: YOUNG_MEMORY_MIB,
      },
    });
    // A program whose work is done ends, although the thread is there.
    this.worker.unref();
    this.worker.on("message", (message: Message) => this.waiting?.resolve(message));
    this.worker.on("error", (error: Error & { code?: string }) =>
      this.lose(
        error.code === "ERR_WORKER_OUT_OF_MEMORY"
          ? tookTooMuch(`took more than ${MEMORY_LIMIT_MIB} MiB of memory`)
          : noThread(error.message),
      ));
    this.worker.on("exit", () => this.lose(noThread("it ended")));
  }

  /**
   * A thread that takes jobs.
   *
   * @throws {M40Error} "internal" where none is available.
   */
  static async start(module: URL): Promise<TemplateThread> {
    const thread = new TemplateThread(module);
    try {
      const ready = await thread.next(
        START_LIMIT_MS,
        START_LIMIT_MS,
        () => noThread(`it was not there after ${START_LIMIT_MS} ms`),
      ) as Ready;
      thread.used = msOfThread(ready.thread);
      return thread;
    } catch (error) {
      await thread.end();
      throw error;
    }
  }

  /** Whether it takes no job any more. */
  get isLost(): boolean {
    return this.reason !== undefined;
  }

  /**
   * What a job gives.
   *
   * @throws {M40Error} "invalid_request" where the template takes so much that the thread is lost; "internal" where
   * the thread fails, "cancelled" where it is ended meanwhile.
   */
  async run(job: RenderJob): Promise<RenderReply> {
    if (this.reason !== undefined) throw this.reason;
    this.worker.postMessage(postedJob(job));
    const late = () => tookTooMuch(`took more than ${TIME_LIMIT_MS} ms`);
    return await this.next(TIME_LIMIT_MS, CLOCK_LIMIT_MS, late) as RenderReply;
  }

  /** Ends the thread, whatever it does. Resolves when it is gone, and its memory with it. */
  async end(): Promise<void> {
    this.lose(new M40Error("cancelled", "the engine is closed"));
    await this.worker.terminate();
  }

  /**
   * The next message. If none comes in time, the thread is lost, for the reason that `late` makes: an error is dear,
   * and most messages come in time.
   *
   * @param limitMs Milliseconds of a processor.
   * @param mostMs Milliseconds by the clock.
   */
  private async next(limitMs: number, mostMs: number, late: () => M40Error): Promise<Message> {
    if (this.reason !== undefined) throw this.reason;
    this.waiting = Promise.withResolvers();
    const clock = new WorkClock(this.used);
    const look = () => {
      const left = clock.left(limitMs, mostMs);
      timer = left > 0
        ? setTimeout(look, Math.max(left, GRACE_MS))
        : setTimeout(() => this.lose(late()), GRACE_MS);
    };
    // The first look comes soon: from it on the processor's time counts.
    let timer = setTimeout(look, GRACE_MS);
    try {
      return await this.waiting.promise;
    } finally {
      clearTimeout(timer);
      this.waiting = undefined;
    }
  }

  private lose(reason: M40Error): void {
    this.reason ??= reason;
    this.waiting?.reject(reason);
  }
}

/** A template has taken more than it may. */
export function tookTooMuch(what: string): M40Error {
  return new M40Error(
    "invalid_request",
    `the chat template ${what} and was ended. Send less, or choose another template ` +
      "(--chat-template).",
    "messages",
  );
}

function noThread(reason: string): M40Error {
  return new M40Error("internal", `the thread that renders chat templates failed: ${reason}`);
}
