import { MAX_TOP_LOGPROBS, type Sample } from "../device/mod.ts";
import { checkRange, SAMPLING_DEFAULTS } from "../sampling/mod.ts";
import { Sequence, type SequenceListener, type SequenceQueue } from "../scheduler/mod.ts";
import type { TokenTexts } from "../tokenizer/mod.ts";
import { type RequestEnds, startDeadline } from "./deadline.ts";
import { M40Error } from "../errors.ts";
import type { GeneratedToken } from "./generation.ts";

/** What a text's tokens are scored with. */
export interface ScoringOptions extends RequestEnds {
  /** 0 to 20: log-probabilities of so many likeliest tokens for each position. */
  readonly topLogprobs: number;
}

/** What a {@link Scoring} is made with. */
interface ScoringServices {
  readonly texts: TokenTexts;
  readonly queue: SequenceQueue;
}

const NO_TOKENS: ReadonlySet<number> = new Set();

/**
 * The log-probabilities of the tokens of a given text. It is an ordinary sequence: it waits, may be preempted and can
 * be cancelled. Its prompt is the first token. The others are forced, and they are also its drafts, so that a step
 * computes as many as fit.
 */
export class Scoring implements SequenceListener {
  /**
   * The tokens after the first, which has no log-probability. Rejects with an {@link M40Error}:
   * "cancelled", "timeout", "not_finite", or "device" where the device was lost.
   */
  readonly result: Promise<readonly GeneratedToken[]>;
  private readonly scored: GeneratedToken[] = [];
  private readonly sequence: Sequence;
  private readonly settle: PromiseWithResolvers<readonly GeneratedToken[]>;
  private readonly abort = () => this.cancel();
  private deadline?: number;
  private ended = false;

  private constructor(
    private readonly tokens: readonly number[],
    private readonly options: ScoringOptions,
    private readonly services: ScoringServices,
  ) {
    this.settle = Promise.withResolvers();
    this.result = this.settle.promise;
    // The reader may have left before it fails.
    this.result.catch(() => {});
    this.sequence = new Sequence({
      prompt: tokens.slice(0, 1),
      maxTokens: tokens.length - 1,
      sampling: { ...SAMPLING_DEFAULTS, temperature: 0 },
      topLogprobs: options.topLogprobs,
      // A text may contain them anywhere.
      endTokens: NO_TOKENS,
      steering: { next: (generated) => tokens[1 + generated.length] },
      draft: ({ length }, most) => tokens.slice(length, length + most),
      listener: this,
    });
  }

  /**
   * Queues a scoring; fails as {@link SequenceQueue.add} does.
   *
   * @throws {M40Error} "invalid_request" for a number of log-probabilities that there cannot be.
   */
  static start(
    tokens: readonly number[],
    options: ScoringOptions,
    services: ScoringServices,
  ): Scoring {
    checkRange("logprobs", options.topLogprobs, { min: 0, max: MAX_TOP_LOGPROBS, integer: true });
    const scoring = new Scoring(tokens, options, services);
    scoring.begin();
    return scoring;
  }

  /** Ends it, if it has not ended. */
  cancel(): void {
    if (this.ended) return;
    this.end();
    this.services.queue.cancel(this.sequence);
  }

  accept({ token, logprob, top }: Sample): boolean {
    const { texts } = this.services;
    this.scored.push({
      token,
      text: texts.of(token),
      logprob,
      top: top.map((one) => ({ ...one, text: texts.of(one.token) })),
    });
    return true;
  }

  end(error?: unknown): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.deadline);
    this.options.signal?.removeEventListener("abort", this.abort);
    const { scored, tokens, settle } = this;
    if (error !== undefined) settle.reject(error);
    else if (scored.length === tokens.length - 1) settle.resolve(scored);
    else settle.reject(new M40Error("cancelled", "The request was ended before it was done."));
  }

  private begin(): void {
    const { signal, timeoutMs, timeoutFrom = performance.now() } = this.options;
    if (this.tokens.length === 1 || signal?.aborted) return this.end();
    this.services.queue.add(this.sequence);
    signal?.addEventListener("abort", this.abort);
    if (timeoutMs !== undefined) {
      this.deadline = startDeadline(timeoutMs, timeoutFrom, () => this.expire(timeoutMs));
    }
  }

  private expire(timeoutMs: number): void {
    this.end(
      new M40Error(
        "timeout",
        `the request was not done after ${timeoutMs / 1000} s: ${this.scored.length} of ` +
          `${this.tokens.length} tokens of a prompt had their log-probabilities. Ask for fewer, or serve ` +
          "with a longer --timeout.",
      ),
    );
    this.services.queue.cancel(this.sequence);
  }
}
