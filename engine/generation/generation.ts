import {
  NO_OUTPUT,
  type OutputFormat,
  type OutputPiece,
  type OutputReader,
  type ToolCallPiece,
} from "../chat/mod.ts";
import type { Sample } from "../device/mod.ts";
import type { SamplingParameters, Steering } from "../sampling/mod.ts";
import { Sequence, type SequenceListener, type SequenceQueue } from "../scheduler/mod.ts";
import type { StreamingDecoder, Tokenizer, TokenTexts } from "../tokenizer/mod.ts";
import { startDeadline } from "./deadline.ts";
import { M40Error } from "../errors.ts";
import type {
  FinishReason,
  GenerationObserver,
  GenerationReport,
  GenerationTimes,
} from "./generation_report.ts";
import { StopStrings } from "./stop_strings.ts";

/** A token of the output. */
export interface GeneratedToken {
  readonly token: number;
  /** The token's own text; U+FFFD where that is part of a character. */
  readonly text: string;
  /** Whether it is one of reasoning, or ends it. */
  readonly reasoning?: true;
  /** Whether it is one of calls of tools. */
  readonly call?: true;
  /** Natural logarithm of its probability by the model; where log-probabilities were asked for. */
  readonly logprob?: number;
  /** The likeliest tokens at its position, likeliest first. */
  readonly top?: readonly {
    readonly token: number;
    readonly text: string;
    readonly logprob: number;
  }[];
}

/** How many tokens a request took. */
export interface Usage {
  readonly promptTokens: number;
  /** Tokens sampled, the end token included. */
  readonly completionTokens: number;
  /** How many of those were reasoning. */
  readonly reasoningTokens: number;
  /** How many of the prompt's tokens needed no computation, because another prompt began alike. */
  readonly cachedTokens: number;
}

/** A piece of the output. */
export interface GenerationChunk {
  /** May be empty while a character is incomplete or a stop string possible. */
  readonly text: string;
  /** Reasoning that came before the text; empty where there is none. */
  readonly reasoning: string;
  /** What of tool calls came after the text; absent where nothing did. */
  readonly toolCalls?: readonly ToolCallPiece[];
  /** The tokens sampled since the last chunk; end tokens are not among them. */
  readonly tokens: readonly GeneratedToken[];
  /** On the last chunk only. */
  readonly finishReason?: FinishReason;
  /** On the last chunk, where a stop string ended the output: which. */
  readonly stopString?: string;
  /** On the last chunk only. */
  readonly usage?: Usage;
}

/** What a {@link Generation} is made from, checked before. */
export interface GenerationPlan {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly sampling: SamplingParameters;
  readonly stop: readonly string[];
  /** Tokens that end the output, in addition to the model's own. */
  readonly stopTokens?: ReadonlySet<number>;
  /** Absent: all output is content. */
  readonly format?: OutputFormat;
  /** Whether reasoning stays in the text. */
  readonly inline?: boolean;
  /** Absent: tokens carry no log-probabilities. */
  readonly topLogprobs?: number;
  readonly steering?: Steering;
  readonly signal?: AbortSignal;
  /** Absent: no deadline. */
  readonly timeoutMs?: number;
  /** When the deadline starts, by `performance.now()`; absent: when the generation is created. */
  readonly timeoutFrom?: number;
  readonly onReport?: (report: GenerationReport) => void;
}

/** Chunks that a reader is given together at most: it works on them without a break. */
const MOST_TOGETHER = 64;

/** Whether anything is to be computed. */
function isWanted({ maxTokens, signal }: GenerationPlan): boolean {
  return maxTokens > 0 && !signal?.aborted;
}

/** What generations are made with. */
export interface GenerationServices {
  readonly tokenizer: Tokenizer;
  /** The text of each token. */
  readonly texts: TokenTexts;
  readonly queue: SequenceQueue;
  readonly observer?: GenerationObserver;
}

/**
 * The output of one request, as it is sampled: iterate it once. Leaving the loop, {@link cancel} and the request's
 * signal end it and free its slot; iteration then ends without a finish reason. At its deadline, iteration throws the
 * error "timeout" after the tokens sampled before.
 */
export class Generation implements AsyncIterable<GenerationChunk>, SequenceListener {
  private readonly chunks: GenerationChunk[] = [];
  private readonly decoder: StreamingDecoder;
  private readonly stops: StopStrings;
  /** Separates reasoning from content; absent where all is content. */
  private readonly reader?: OutputReader;
  private reasoningTokens = 0;
  /** Its sequence in the scheduler. */
  readonly sequence: Sequence;
  private readonly abort = () => this.cancel();
  private readonly arrival = performance.now();
  private deadline?: number;
  private firstToken?: number;
  private lastToken?: number;
  private finishReason?: FinishReason;
  /** Tokens taken in; the sequence may be ahead of it. */
  private sampled = 0;
  private wake?: () => void;
  private ended = false;
  private error?: unknown;
  private readonly over = Promise.withResolvers<void>();

  private readonly tokenizer: Tokenizer;
  private readonly endTokens: ReadonlySet<number>;

  /**
   * @param plan The request. It is not queued before {@link start}.
   * @param services What it is generated with.
   * @param leader A generation with the same prompt, whose KV blocks this one shares.
   */
  private constructor(
    private readonly plan: GenerationPlan,
    private readonly services: GenerationServices,
    leader?: Generation,
  ) {
    const { tokenizer } = services;
    this.tokenizer = tokenizer;
    this.decoder = tokenizer.decoder({ continuing: true });
    this.stops = new StopStrings(plan.stop);
    this.reader = plan.format?.reader(plan.inline);
    // Sequences with the same set of end tokens share it on the device.
    this.endTokens = plan.stopTokens?.union(tokenizer.endTokens) ?? tokenizer.endTokens;
    this.sequence = new Sequence({
      prompt: plan.prompt,
      maxTokens: plan.maxTokens,
      sampling: plan.sampling,
      topLogprobs: plan.topLogprobs ?? 0,
      endTokens: this.endTokens,
      stopTokens: plan.stopTokens,
      suppressed: tokenizer.suppressed,
      tokenBytes: (token) =>
        token < tokenizer.vocabSize ? tokenizer.tokenBytes(token) : new Uint8Array(0),
      steering: plan.steering,
      logprobs: plan.topLogprobs !== undefined,
      listener: this,
      leader: leader?.sequence,
    });
  }

  /**
   * Queues generations, all or none; fails as {@link SequenceQueue.add} does. Those whose prompts are the same array
   * compute it once.
   */
  static start(plans: readonly GenerationPlan[], services: GenerationServices): Generation[] {
    const leaders = new Map<readonly number[], Generation>();
    const generations = plans.map((plan) => {
      const generation = new Generation(plan, services, leaders.get(plan.prompt));
      // A generation that computes nothing has no followers.
      if (isWanted(plan) && !leaders.has(plan.prompt)) leaders.set(plan.prompt, generation);
      return generation;
    });
    const wanted = generations.filter(({ plan }) => isWanted(plan));
    services.queue.add(...wanted.map(({ sequence }) => sequence));
    for (const generation of generations) generation.begin();
    return generations;
  }

  /** Heeds the signal and the deadline; where nothing is to be computed, it ends at once. */
  private begin(): void {
    const { signal, timeoutMs, timeoutFrom = this.arrival, maxTokens, steering } = this.plan;
    steering?.begun?.(this.done);
    if (!isWanted(this.plan)) {
      if (maxTokens === 0 && !signal?.aborted) this.finish("length", []);
      this.services.queue.cancel(this.sequence);
      return;
    }
    signal?.addEventListener("abort", this.abort);
    if (timeoutMs !== undefined) {
      this.deadline = startDeadline(timeoutMs, timeoutFrom, () => this.expire(timeoutMs));
    }
  }

  /** Tokens of the prompt. */
  get promptTokens(): number {
    return this.plan.prompt.length;
  }

  /** How many prompt tokens came from the cache; known with the first chunk. */
  get cachedTokens(): number {
    return this.sequence.cached;
  }

  /** Resolves when the engine has finished its work on it, however it ended. */
  get done(): Promise<void> {
    return this.over.promise;
  }

  /** How long it has taken so far. */
  get times(): GenerationTimes {
    const { firstToken, lastToken, arrival } = this;
    const { admittedAt } = this.sequence;
    return {
      queueMs: admittedAt && admittedAt - arrival,
      firstTokenMs: firstToken && firstToken - arrival,
      decodeMs: firstToken && lastToken! - firstToken,
    };
  }

  /** Ends the generation, if it has not ended. */
  cancel(): void {
    if (!this.ended) this.services.queue.cancel(this.sequence);
  }

  /** The deadline has passed. */
  private expire(timeoutMs: number): void {
    if (this.ended) return;
    const seconds = timeoutMs / 1000;
    const done = this.sampled > 0
      ? `${this.sampled} of at most ${this.plan.maxTokens} tokens were sampled`
      : this.sequence.admittedAt === undefined
      ? "it was still waiting for its turn"
      : "its prompt was still being computed";
    this.end(
      new M40Error(
        "timeout",
        `the request was not done after ${seconds} s: ${done}. Ask for fewer tokens (max_tokens), or ` +
          "serve with a longer --timeout.",
      ),
    );
    this.services.queue.cancel(this.sequence);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<GenerationChunk> {
    for await (const chunks of this.together()) {
      for (const chunk of chunks) yield chunk;
    }
  }

  /** Iterates it in batches: each has all chunks ready by then, at least one. */
  async *together(): AsyncGenerator<readonly GenerationChunk[]> {
    try {
      while (true) {
        while (this.chunks.length > 0) yield this.chunks.splice(0, MOST_TOGETHER);
        if (this.ended) break;
        await new Promise<void>((resolve) => this.wake = resolve);
      }
      if (this.error !== undefined) throw this.error;
    } finally {
      this.cancel();
    }
  }

  accept(sample: Sample): boolean {
    const now = performance.now();
    if (this.lastToken === undefined) this.services.observer?.firstToken?.(now - this.arrival);
    else this.services.observer?.token?.(now - this.lastToken);
    this.lastToken = now;
    this.firstToken ??= now;
    this.sampled++;
    if (this.endTokens.has(sample.token)) {
      this.finish("stop", []);
      return false;
    }
    // The tags count as reasoning as well: the one that begins it and the one that ends it.
    const before = this.reader?.inReasoning ?? false;
    const piece = this.read(sample.token);
    const isReasoning = before || (this.reader?.inReasoning ?? false);
    if (isReasoning) this.reasoningTokens++;
    const tokens = [this.describe(sample, isReasoning)];
    const { stopped, ...said } = this.untilStop(piece);
    if (stopped) {
      this.emitLast({ ...said, tokens, finishReason: "stop" });
      return false;
    }
    if (this.sampled >= this.plan.maxTokens) {
      this.finish("length", tokens, said);
      return false;
    }
    this.emit({ ...said, tokens });
    return true;
  }

  /** A piece up to the first stop string in its content; behind content that a call follows there can be none. */
  private untilStop(
    { reasoning, text, toolCalls }: OutputPiece,
  ): OutputPiece & { stopped: boolean } {
    const { text: certain, stopped } = this.stops.push(text);
    if (stopped || toolCalls === undefined || toolCalls.length === 0) {
      return { reasoning, text: certain, stopped };
    }
    return { reasoning, text: certain + this.stops.flush(), toolCalls, stopped };
  }

  /** The output that a token adds, with reasoning separated from content. */
  private read(token: number): OutputPiece {
    const { decoder, tokenizer } = this;
    const isKnown = token < tokenizer.vocabSize;
    // No character continues behind a control token, which may begin or end a separated part.
    const broken = isKnown && tokenizer.isControl(token) ? decoder.breakOff() : "";
    const text = broken + (isKnown ? decoder.push(token) : "");
    return this.reader?.push(token, text) ?? { reasoning: "", text };
  }

  end(error?: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    this.report();
    clearTimeout(this.deadline);
    this.plan.signal?.removeEventListener("abort", this.abort);
    this.wake?.();
    this.over.resolve();
  }

  /** Emits the last chunk, with what the decoder and the stop strings held back. */
  private finish(
    finishReason: FinishReason,
    tokens: GeneratedToken[],
    { reasoning, text, toolCalls = [] }: OutputPiece = NO_OUTPUT,
  ): void {
    const held = this.decoder.flush();
    const end = this.reader?.flush(held) ?? { reasoning: "", text: held };
    const last = this.untilStop(end);
    const calls = [...toolCalls, ...last.toolCalls ?? []];
    this.emitLast({
      reasoning: reasoning + last.reasoning,
      text: text + last.text + (last.stopped ? "" : this.stops.flush()),
      ...(calls.length === 0 ? {} : { toolCalls: calls }),
      tokens,
      finishReason: last.stopped ? "stop" : finishReason,
    });
  }

  /** Emits the last chunk and ends. The scheduler may still work on the sequence; the reader need not wait for that. */
  private emitLast(chunk: GenerationChunk & { finishReason: FinishReason }): void {
    this.finishReason = chunk.finishReason;
    const usage: Usage = {
      promptTokens: this.promptTokens,
      completionTokens: this.sampled,
      reasoningTokens: this.reasoningTokens,
      cachedTokens: this.sequence.cached,
    };
    const { met } = this.stops;
    this.emit({ ...chunk, usage, ...(met === undefined ? {} : { stopString: met }) });
    this.end();
  }

  private emit(chunk: GenerationChunk): void {
    this.chunks.push(chunk);
    this.wake?.();
  }

  private report(): void {
    const now = performance.now();
    const { firstToken, lastToken, arrival, sampled, error } = this;
    const failed = error instanceof M40Error && error.code === "timeout" ? "timeout" : "error";
    const report: GenerationReport = {
      promptTokens: this.promptTokens,
      cachedTokens: this.sequence.cached,
      completionTokens: sampled,
      maxTokens: this.plan.maxTokens,
      outcome: this.finishReason ?? (error === undefined ? "cancelled" : failed),
      ...this.times,
      tokenMs: sampled > 1 ? (lastToken! - firstToken!) / (sampled - 1) : undefined,
      totalMs: now - arrival,
    };
    this.services.observer?.generation?.(report);
    this.plan.onReport?.(report);
  }

  private describe(sample: Sample, isReasoning: boolean): GeneratedToken {
    const isCall = this.reader?.inCalls ?? false;
    // A model may have more logits than its vocabulary has tokens; the excess logits have no meaning.
    const text = (token: number) =>
      token < this.tokenizer.vocabSize ? this.services.texts.of(token) : "";
    return {
      token: sample.token,
      text: text(sample.token),
      ...(isReasoning ? { reasoning: true } : {}),
      ...(isCall ? { call: true } : {}),
      ...(this.plan.topLogprobs === undefined ? {} : {
        logprob: sample.logprob,
        top: sample.top.map(({ token, logprob }) => ({ token, text: text(token), logprob })),
      }),
    };
  }
}
