import { M40Error } from "../errors.ts";
import { LoopRenderer } from "./loop_renderer.ts";
import type { Rendered, RenderJob, RenderReply } from "./render_job.ts";
import { TEMPLATE_WORKER, TemplateThread, tookTooMuch } from "./template_thread.ts";

interface Waiting {
  readonly job: RenderJob;
  readonly resolve: (rendered: Rendered) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Renders templates: short conversations at once, others in a thread, one after the other. A template is untrusted code:
 * one that takes too long or too much loses its thread, and those that wait get another one.
 */
export class TemplateRenderer {
  private readonly loop = new LoopRenderer();
  private readonly waiting: Waiting[] = [];
  private thread?: TemplateThread;
  /** The work that goes on, while there is some. */
  private work?: Promise<void>;
  private closed = false;

  /** @param module What threads run. */
  constructor(private readonly module: URL = TEMPLATE_WORKER) {}

  /**
   * What a template gives.
   *
   * @throws {M40Error} "invalid_request" where the template fails or takes too much, "cancelled" where the signal or
   * {@link close} ends it, "internal" where no thread is available.
   */
  async render(job: RenderJob, signal?: AbortSignal): Promise<Rendered> {
    if (this.closed) throw closedError();
    if (signal?.aborted) throw abortError();
    const made = this.loop.render(job);
    if (made !== undefined) return renderedOf(made);
    const { promise, resolve, reject } = Promise.withResolvers<Rendered>();
    const one: Waiting = { job, resolve, reject };
    // Started work goes on, for a second at most, without a waiting caller.
    const abort = () => {
      const place = this.waiting.indexOf(one);
      if (place >= 0) this.waiting.splice(place, 1);
      reject(abortError());
    };
    signal?.addEventListener("abort", abort);
    this.waiting.push(one);
    this.work ??= this.workOff();
    return await promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  /** Ends the thread; what is rendered or waits is cancelled. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.waiting.splice(0)) reject(closedError());
    await this.thread?.end();
    await this.work;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async workOff(): Promise<void> {
    while (this.waiting.length > 0) {
      try {
        this.thread ??= await TemplateThread.start(this.module);
      } catch (error) {
        for (const { reject } of this.waiting.splice(0)) reject(error);
        break;
      }
      const one = this.waiting.shift();
      if (one !== undefined) await this.renderOne(this.thread, one);
    }
    this.work = undefined;
    // Closed while a thread was starting.
    if (this.closed) await this.thread?.end();
  }

  private async renderOne(
    thread: TemplateThread,
    { job, resolve, reject }: Waiting,
  ): Promise<void> {
    try {
      const wantsProgram = this.loop.wants(job.template);
      const made = await thread.run(wantsProgram ? { ...job, wantsProgram } : job);
      const rendered = renderedOf(made);
      if (rendered.program !== undefined) this.loop.learn(job.template, rendered.program);
      resolve(rendered);
    } catch (error) {
      reject(error);
    }
    if (!thread.isLost) return;
    this.thread = undefined;
    // The next one comes when this one is gone, so that the memory of two is never held.
    await thread.end();
  }
}

/**
 * What a template gave.
 *
 * @throws {M40Error} "invalid_request" where it did not render.
 */
function renderedOf(reply: RenderReply): Rendered {
  if ("text" in reply) return reply;
  const { kind, message, param = "messages" } = reply;
  if (kind === "limit") throw tookTooMuch(message);
  const text = {
    lost:
      `the chat template leaves out what ${message} says, wherever it is put. Leave it out, or choose another ` +
      "template (--chat-template).",
    refusal: `the chat template refuses this conversation: ${message}`,
    failure: `the chat template failed on this conversation: ${message}`,
  }[kind];
  throw new M40Error("invalid_request", text, param);
}

function closedError(): M40Error {
  return new M40Error("cancelled", "the engine is closed");
}

function abortError(): M40Error {
  return new M40Error("cancelled", "the request was cancelled");
}
