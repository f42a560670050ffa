import { Generation, type GenerationChunk } from "../../engine/mod.ts";
import type { Answer } from "../answer/mod.ts";
import type { ServedModel } from "../models/mod.ts";
import { chatLogprobs } from "../openai/mod.ts";
import type { AnswerEnd, CommonFields, Logprobs } from "./fields.ts";
import { type AnsweredCall, WholeCalls } from "./tools.ts";

/**
 * The differences between the two routes: the text, reasoning and calls of an answer or of a piece of it, as its
 * fields.
 */
export type Said = (text: string, reasoning: string, calls?: readonly AnsweredCall[]) => object;

/** When a request came, and when it had its model: by `performance.now()`. */
export interface Arrival {
  readonly arrived: number;
  readonly served: number;
}

/** A text on its way, as one answer or as a line for each piece. */
export class TextAnswer implements Answer {
  readonly work: readonly Generation[];
  private readonly calls = new WholeCalls();

  /** @param asked What was asked for: by which name, and with which log-probabilities. */
  constructor(
    private readonly served: ServedModel,
    private readonly generation: Generation,
    private readonly asked: Pick<CommonFields, "model" | "logprobs" | "top_logprobs">,
    private readonly said: Said,
    private readonly arrival: Arrival,
  ) {
    this.work = [generation];
  }

  async whole(): Promise<object> {
    let [text, reasoning] = ["", ""];
    const calls: AnsweredCall[] = [];
    const logprobs: LogprobList = [];
    let end: AnswerEnd | undefined;
    for await (const { chunks } of Generation.together(this.work)) {
      for (const chunk of chunks) {
        text += chunk.text;
        reasoning += chunk.reasoning;
        calls.push(...this.calls.push(chunk));
        logprobs.push(...this.logprobsOf(chunk));
      }
      end = this.endOf(chunks.at(-1)!);
    }
    const probable = this.asked.logprobs ? { logprobs } : {};
    return { ...this.head, ...this.said(text, reasoning, calls), ...probable, ...end };
  }

  async *events(): AsyncGenerator<readonly string[]> {
    /** Log-probabilities of tokens whose text is held back. */
    let held: LogprobList = [];
    for await (const { chunks } of Generation.together(this.work)) {
      const events: string[] = [];
      for (const chunk of chunks) {
        const { text, reasoning } = chunk;
        const calls = this.calls.push(chunk);
        held.push(...this.logprobsOf(chunk));
        if (text === "" && reasoning === "" && calls.length === 0) continue;
        events.push(JSON.stringify({
          ...this.head,
          ...this.said(text, reasoning, calls),
          logprobs: held.length > 0 ? held : undefined,
          done: false,
        }));
        held = [];
      }
      const end = this.endOf(chunks.at(-1)!);
      if (end !== undefined) {
        const logprobs = held.length > 0 ? held : undefined;
        events.push(JSON.stringify({ ...this.head, ...this.said("", ""), logprobs, ...end }));
      }
      yield events;
    }
  }

  private logprobsOf({ tokens }: GenerationChunk): LogprobList {
    const { logprobs, top_logprobs: top } = this.asked;
    if (!logprobs) return [];
    return chatLogprobs(this.served.engine.tokenizer, tokens).map(({ top_logprobs, ...one }) => ({
      ...withBytes(one),
      ...(top ? { top_logprobs: top_logprobs.map(withBytes) } : {}),
    }));
  }

  private get head() {
    return { model: this.asked.model ?? this.served.name, created_at: new Date().toISOString() };
  }

  private endOf(
    { finishReason, usage }: GenerationChunk,
  ): AnswerEnd | undefined {
    if (finishReason === undefined || usage === undefined) return undefined;
    const { arrived, served } = this.arrival;
    const { queueMs = 0, firstTokenMs = 0, decodeMs = 0 } = this.generation.times;
    return {
      done: true,
      done_reason: finishReason,
      total_duration: nanoseconds(performance.now() - arrived),
      load_duration: nanoseconds(served - arrived),
      prompt_eval_count: usage.promptTokens,
      prompt_eval_duration: nanoseconds(firstTokenMs - queueMs),
      eval_count: usage.completionTokens,
      eval_duration: nanoseconds(decodeMs),
    };
  }
}

type LogprobList = NonNullable<Logprobs>;

function withBytes<T extends { readonly bytes: readonly number[] | null }>(one: T) {
  return { ...one, bytes: [...one.bytes ?? []] };
}

function nanoseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1e6));
}
