import {
  type Engine,
  type FinishReason,
  type GeneratedToken,
  type GenerateRequest,
  Generation,
  type Usage as EngineUsage,
} from "../../engine/mod.ts";
import { type Answer, type Usage, usageOf } from "../answer/mod.ts";
import { append, characters, CompletionLogprobsWriter } from "./completion_logprobs.ts";
import type {
  Completion,
  CompletionChoice,
  CompletionLogprobs,
  CompletionRequest,
} from "./completion_schemas.ts";
import { Echo } from "./echo.ts";
import type { AnswerHead } from "./head.ts";

/** A completion on its way: the running generations, as one answer or as events. */
export class CompletionAnswer implements Answer {
  readonly work: readonly (Generation | Echo)[];
  private readonly generations: Generation[];
  /** Answers to each prompt, and the candidates that they are chosen from. */
  private readonly n: number;
  private readonly candidates: number;
  /** What the candidates of each prompt begin with: the prompt, where it is echoed. */
  private readonly echoes?: Echo[];
  private readonly writers?: CompletionLogprobsWriter[];

  private readonly withUsage: boolean;

  /**
   * @param head What the answer and all its events begin with.
   * @throws {M40Error} What {@link Engine.generate} throws.
   */
  constructor(
    private readonly head: AnswerHead<"text_completion">,
    engine: Engine,
    body: CompletionRequest,
    requests: readonly GenerateRequest[],
  ) {
    this.withUsage = body.stream_options?.include_usage ?? false;
    this.n = body.n ?? 1;
    this.candidates = body.best_of ?? this.n;
    this.generations = engine.generateAll(requests);
    try {
      if (body.echo) this.echoes = this.startEchoes(engine, body, requests[0]);
    } catch (error) {
      for (const generation of this.generations) generation.cancel();
      throw error;
    }
    this.work = [...this.generations, ...this.echoes ?? []];
    if (body.logprobs != null) {
      this.writers = requests.map((_, index) => {
        const offset = characters(this.echoOf(index)?.text ?? "");
        return new CompletionLogprobsWriter(engine.tokenizer, { offset });
      });
    }
  }

  private startEchoes(
    engine: Engine,
    { prompt, logprobs }: CompletionRequest,
    { signal, timeoutMs, timeoutFrom }: GenerateRequest,
  ): Echo[] {
    const firsts = this.generations.filter((_, index) => index % this.candidates === 0);
    const scored = logprobs == null
      ? undefined
      : { topLogprobs: logprobs, signal, timeoutMs, timeoutFrom };
    return Echo.start(engine, prompt, firsts, scored);
  }

  /** What a candidate begins with. */
  private echoOf(index: number): Echo | undefined {
    return this.echoes?.[Math.floor(index / this.candidates)];
  }

  /** The whole answer, when it is done. */
  async whole(): Promise<Completion> {
    try {
      return { ...this.head, ...await this.collect() };
    } finally {
      this.cancel();
    }
  }

  private async collect(): Promise<{ choices: CompletionChoice[]; usage: Usage }> {
    const candidates = await Promise.all(this.generations.map(async (_, index) => {
      const echo = this.echoOf(index);
      const logprobs = this.writers?.[index].write([]) ?? null;
      const echoed = await echo?.logprobs();
      if (logprobs !== null && echoed) append(logprobs, echoed);
      return {
        text: echo?.text ?? "",
        logprobs,
        finish_reason: null as CompletionChoice["finish_reason"],
        mean: new MeanLogprob(),
      };
    }));
    const usages: (EngineUsage | undefined)[] = [];
    for await (const { index, chunks } of Generation.together(this.generations)) {
      const candidate = candidates[index];
      for (const { text, tokens, finishReason, usage } of chunks) {
        candidate.text += text;
        candidate.finish_reason = finishReason ?? null;
        candidate.mean.add(tokens);
        usages[index] = usage;
        if (candidate.logprobs !== null) {
          append(candidate.logprobs, this.writers![index].write(tokens));
        }
      }
    }
    const choices = this.best(candidates).map(({ text, logprobs, finish_reason }, index) => ({
      text,
      index,
      logprobs,
      finish_reason,
    }));
    return { choices, usage: usageOf(this.generations, usages, this.candidates) };
  }

  /** Of each prompt's candidates the `n` best, the best first; all of them as they are where there are no more. */
  private best<T extends { mean: MeanLogprob }>(candidates: readonly T[]): readonly T[] {
    if (this.candidates === this.n) return candidates;
    const best: T[] = [];
    for (let first = 0; first < candidates.length; first += this.candidates) {
      const own = candidates.slice(first, first + this.candidates);
      best.push(...own.sort((a, b) => b.mean.value - a.mean.value).slice(0, this.n));
    }
    return best;
  }

  /**
   * The answer's events as JSON, pieced together around the head's: this is what the server spends on every
   * token. With usage, the last event has it, and the others have null.
   */
  async *events(): AsyncGenerator<string | readonly string[]> {
    const { withUsage } = this;
    const start = JSON.stringify(this.head).slice(0, -1) + ',"choices":[';
    const end = withUsage ? '],"usage":null}' : "]}";
    const choice = (
      index: number,
      text: string,
      logprobs: CompletionLogprobs | null,
      finishReason?: FinishReason,
    ) =>
      `${start}{"text":${JSON.stringify(text)},"index":${index},"logprobs":${
        logprobs === null ? "null" : JSON.stringify(logprobs)
      },"finish_reason":${finishReason === undefined ? "null" : `"${finishReason}"`}}${end}`;
    try {
      for (const index of this.generations.keys()) {
        const echo = this.echoOf(index);
        if (echo === undefined) continue;
        const logprobs = await echo.logprobs();
        if (echo.text !== "" || logprobs !== null) yield choice(index, echo.text, logprobs);
      }
      const usages: (EngineUsage | undefined)[] = [];
      for await (const { index, chunks } of Generation.together(this.generations)) {
        const events: string[] = [];
        for (const { text, tokens, finishReason, usage } of chunks) {
          usages[index] = usage;
          const logprobs = this.writers !== undefined && tokens.length > 0
            ? this.writers[index].write(tokens)
            : null;
          // Text that is held back needs no event.
          if (text === "" && finishReason === undefined && logprobs === null) continue;
          events.push(choice(index, text, logprobs, finishReason));
        }
        yield events;
      }
      if (withUsage) {
        const usage = usageOf(this.generations, usages, this.candidates);
        yield `${start}],"usage":${JSON.stringify(usage)}}`;
      }
    } finally {
      this.cancel();
    }
  }

  /** Ends what runs or waits for it. */
  private cancel(): void {
    for (const one of this.work) one.cancel();
  }
}

/** The mean log-probability of a candidate's tokens, by which candidates are compared. */
class MeanLogprob {
  private sum = 0;
  private count = 0;

  add(tokens: readonly GeneratedToken[]): void {
    for (const { logprob = 0 } of tokens) this.sum += logprob;
    this.count += tokens.length;
  }

  /** Of an answer without tokens, less than that of any other. */
  get value(): number {
    return this.count === 0 ? -Infinity : this.sum / this.count;
  }
}
