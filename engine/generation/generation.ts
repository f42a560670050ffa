import { NO_OUTPUT, type OutputPiece, type OutputReader, type ToolCallPiece } from "../chat/mod.ts";
import type { Sample } from "../device/mod.ts";
import type { Sequence, SequenceListener, SequenceQueue } from "../scheduler/mod.ts";
import type { StreamingDecoder, Tokenizer, TokenTexts } from "../tokenizer/mod.ts";
import { type RequestEnds, startDeadline } from "./deadline.ts";
import { M40Error } from "../errors.ts";
import type {
  FinishReason,
  GenerationReport,
  GenerationTimes,
  GuardedObserver,
} from "./observer.ts";
import type { GenerateRequest } from "./request.ts";
import type { StopStrings } from "./stop_strings.ts";

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

/** Chunks that are there together, and which of several generations they are from. */
export interface IndexedChunks {
  readonly index: number;
  /** At least one. */
  readonly chunks: readonly GenerationChunk[];
}

/** Chunks that a reader is given together at most: it works on them without a break. */
const MOST_TOGETHER = 64;

/** What generations are made with. */
export interface GenerationServices {
  readonly tokenizer: Tokenizer;
  /** The text of each token. */
  readonly texts: TokenTexts;
  readonly queue: SequenceQueue;
  readonly observer?: GuardedObserver;
}

/**
 * The output of one request, as it is sampled: iterate it once. Leaving the loop, {@link cancel} and the request's
 * signal end it and free its slot; iteration then ends without a finish reason. At its deadline, iteration throws the
 * error "timeout" after the tokens sampled before.
 */
export class Generation implements AsyncIterable<GenerationChunk>, SequenceListener {
  private readonly chunks: GenerationChunk[] = [];
  private readonly decoder: StreamingDecoder;
  private reasoningTokens = 0;
  /** Tokens of the prompt. */
  readonly promptTokens: number;
  /** Whether anything is to be computed. */
  readonly computes: boolean;
  private readonly arrival = performance.now();
  private readonly abort = () => this.cancel();
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
  /** Resolves when the engine has finished its work on it, however it ended. */
  readonly done: Promise<void> = this.over.promise;

  /**
   * @param request The request, which was checked. It is not queued before {@link start}.
   * @param sequence Its sequence in the scheduler.
   * @param reader Separates reasoning from content; absent where all is content.
   * @param stops Absent where no text ends the output.
   * @param services What it is generated with.
   */
  constructor(
    private readonly request: Pick<GenerateRequest, keyof RequestEnds | "onReport">,
    readonly sequence: Sequence,
    private readonly reader: OutputReader | undefined,
    private readonly stops: StopStrings | undefined,
    private readonly services: GenerationServices,
  ) {
    this.decoder = services.tokenizer.decoder({ continuing: true });
    this.promptTokens = sequence.prompt.length;
    this.computes = sequence.maxTokens > 0 && !request.signal?.aborted;
    sequence.listener = this;
  }

  /** Queues generations, all or none; fails as {@link SequenceQueue.add} does. */
  static start(all: readonly Generation[], queue: SequenceQueue): void {
    const sequences: Sequence[] = [];
    for (const { computes, sequence } of all) if (computes) sequences.push(sequence);
    queue.add(...sequences);
    for (const generation of all) generation.begin();
  }

  /** Heeds the signal and the deadline; where nothing is to be computed, it ends at once. */
  private begin(): void {
    const { request, sequence, arrival } = this;
    sequence.sampler.begun(this.done);
    if (!this.computes) {
      if (sequence.maxTokens === 0 && !request.signal?.aborted) this.finish("length", []);
      this.services.queue.cancel(sequence);
      return;
    }
    request.signal?.addEventListener("abort", this.abort);
    const { timeoutMs, timeoutFrom = arrival } = request;
    if (timeoutMs !== undefined) {
      this.deadline = startDeadline(timeoutMs, timeoutFrom, () => this.expire(timeoutMs));
    }
  }

  /** How many prompt tokens came from the cache; known with the first chunk. */
  get cachedTokens(): number {
    return this.sequence.cached;
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
      ? `${this.sampled} of at most ${this.sequence.maxTokens} tokens were sampled`
      : this.sequence.admittedAt === undefined
      ? "it was still waiting for its turn"
      : "its prompt was still being computed";
    this.end(
      new M40Error(
        "timeout",
        `the request was not done after ${seconds} s: ${done}. Ask for fewer tokens (${this.sequence.limitName}), or ` +
          "serve with a longer --timeout.",
      ),
    );
    this.services.queue.cancel(this.sequence);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<GenerationChunk> {
    try {
      for (let chunks = this.take(); chunks !== undefined; chunks = this.take()) {
        // Looked at and waited for in one turn: what comes meanwhile would wake nobody.
        if (chunks.length > 0) yield* chunks;
        else await new Promise<void>((resolve) => this.wake = resolve);
      }
    } finally {
      this.cancel();
    }
  }

  /**
   * The chunks of generations as they come. Those that are there together come together: a device makes several steps
   * before it tells of them, and what is done once for all of their tokens is not done for each. Takes no chunk before
   * the reader wants one. Leaving early cancels them all, and so does a failure of one.
   *
   * @throws {M40Error} "cancelled" when a generation was ended from outside: its client has left, or the server stops.
   */
  static async *together(generations: readonly Generation[]): AsyncGenerator<IndexedChunks> {
    const left = new Map(generations.entries());
    let wake = () => {};
    for (const one of generations) one.wake = () => wake();
    try {
      while (left.size > 0) {
        let waits = true;
        for (const [index, one] of left) {
          const chunks = one.take();
          if (chunks?.length === 0) continue;
          waits = false;
          if (chunks !== undefined) yield { index, chunks };
          else if (one.finishReason !== undefined) left.delete(index);
          else throw endedEarly();
        }
        if (waits) await new Promise<void>((resolve) => wake = resolve);
      }
    } finally {
      for (const one of generations) one.cancel();
    }
  }

  /** The chunks that are there: none where the next is yet to come; undefined at the end, where it throws its error. */
  private take(): readonly GenerationChunk[] | undefined {
    if (this.chunks.length > 0 || !this.ended) return this.chunks.splice(0, MOST_TOGETHER);
    if (this.error !== undefined) throw this.error;
    return undefined;
  }

  accept(sample: Sample, now: number): boolean {
    const { observer } = this.services;
    if (this.lastToken === undefined) observer?.notify("firstToken", now - this.arrival);
    else observer?.notify("token", now - this.lastToken);
    this.lastToken = now;
    this.firstToken ??= now;
    this.sampled++;
    if (this.sequence.endTokens.has(sample.token)) {
      this.finish("stop", []);
      return false;
    }
    // The tags count as reasoning as well: the one that begins it and the one that ends it.
    const { reader, stops } = this;
    const before = reader?.inReasoning ?? false;
    const piece = this.read(sample.token);
    const isReasoning = before || (reader?.inReasoning ?? false);
    if (isReasoning) this.reasoningTokens++;
    const tokens = [this.describe(sample, isReasoning)];
    const said = stops === undefined ? piece : untilStop(piece, stops);
    if (stops?.met !== undefined) this.emit(said, tokens, "stop");
    else if (this.sampled >= this.sequence.maxTokens) this.finish("length", tokens, said);
    else this.emit(said, tokens);
    return !this.ended;
  }

  /** The output that a token adds, with reasoning separated from content. */
  private read(token: number): OutputPiece {
    const { decoder, services: { tokenizer } } = this;
    const isKnown = token < tokenizer.vocabSize;
    // No character continues behind a control token, which may begin or end a separated part.
    const broken = isKnown && tokenizer.isControl(token) ? decoder.breakOff() : "";
    const text = broken + (isKnown ? decoder.push(token) : "");
    return this.reader?.push(token, text) ?? { reasoning: "", text };
  }

  /** Ends it, for {@link SequenceListener} or because its last chunk is there, and reports it. */
  end(error?: unknown): void {
    if (this.ended) return;
    this.ended = true;
    this.error = error;
    const { firstToken, lastToken, sampled, request, sequence, services: { observer } } = this;
    const failed = error instanceof M40Error && error.code === "timeout" ? "timeout" : "error";
    const report: GenerationReport = {
      promptTokens: this.promptTokens,
      cachedTokens: sequence.cached,
      completionTokens: sampled,
      maxTokens: sequence.maxTokens,
      outcome: this.finishReason ?? (error === undefined ? "cancelled" : failed),
      ...this.times,
      tokenMs: sampled > 1 ? (lastToken! - firstToken!) / (sampled - 1) : undefined,
      totalMs: performance.now() - this.arrival,
    };
    clearTimeout(this.deadline);
    request.signal?.removeEventListener("abort", this.abort);
    this.wake?.();
    this.over.resolve();
    observer?.notify("generation", report);
    try {
      request.onReport?.(report);
    } catch (thrown) {
      observer?.note(thrown);
    }
  }

  /** Emits the last chunk, with what the decoder and the stop strings held back. */
  private finish(
    finishReason: FinishReason,
    tokens: GeneratedToken[],
    { reasoning, text, toolCalls = [] }: OutputPiece = NO_OUTPUT,
  ): void {
    const { stops } = this;
    const held = this.decoder.flush();
    const end = this.reader?.flush(held) ?? { reasoning: "", text: held };
    const last = stops === undefined ? end : untilStop(end, stops);
    const isStopped = stops?.met !== undefined;
    const piece = {
      reasoning: reasoning + last.reasoning,
      text: text + last.text + (stops === undefined || isStopped ? "" : stops.flush()),
      toolCalls: [...toolCalls, ...last.toolCalls ?? []],
    };
    this.emit(piece, tokens, isStopped ? "stop" : finishReason);
  }

  /**
   * Gives the reader a chunk. The last one, which has a reason, ends it: the scheduler may still work on the sequence,
   * but the reader need not wait for that.
   */
  private emit(
    { reasoning, text, toolCalls }: OutputPiece,
    tokens: GeneratedToken[],
    finishReason?: FinishReason,
  ): void {
    const chunk = { reasoning, text, tokens, ...(toolCalls?.length ? { toolCalls } : {}) };
    if (finishReason === undefined) {
      this.chunks.push(chunk);
      this.wake?.();
      return;
    }
    this.finishReason = finishReason;
    const usage: Usage = {
      promptTokens: this.promptTokens,
      completionTokens: this.sampled,
      reasoningTokens: this.reasoningTokens,
      cachedTokens: this.sequence.cached,
    };
    const stopString = this.stops?.met;
    this.chunks.push({ ...chunk, finishReason, usage, ...(stopString && { stopString }) });
    this.end();
  }

  private describe({ token, logprob, top }: Sample, isReasoning: boolean): GeneratedToken {
    const { texts } = this.services;
    return {
      token,
      text: texts.of(token),
      ...(isReasoning ? { reasoning: true } : {}),
      ...(this.reader?.inCalls ? { call: true } : {}),
      ...(this.sequence.logprobs
        ? { logprob, top: top.map((one) => ({ ...one, text: texts.of(one.token) })) }
        : {}),
    };
  }
}

function endedEarly(): M40Error {
  return new M40Error(
    "cancelled",
    "The generation was ended before it was done; send it again.",
  );
}

/** A piece up to the first stop string in its content; behind content that a call follows there can be none. */
function untilStop({ reasoning, text, toolCalls }: OutputPiece, stops: StopStrings): OutputPiece {
  const certain = stops.push(text);
  if (stops.met !== undefined || !toolCalls?.length) return { reasoning, text: certain };
  return { reasoning, text: certain + stops.flush(), toolCalls };
}
