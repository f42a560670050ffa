import type { Generation, GenerationChunk, Tokenizer } from "../../engine/mod.ts";
import { type Answer, chunksOf } from "../answer/mod.ts";
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
  readonly done: Promise<void>;
  private readonly calls = new WholeCalls();

  /** @param model What the client calls the model. */
  constructor(
    private readonly model: string,
    private readonly generation: Generation,
    private readonly said: Said,
    private readonly arrival: Arrival,
    private readonly logprobs?: LogprobOptions,
  ) {
    this.done = generation.done;
  }

  async whole(): Promise<object> {
    let [text, reasoning] = ["", ""];
    const calls: AnsweredCall[] = [];
    const logprobs: LogprobList = [];
    let end: AnswerEnd | undefined;
    for await (const { chunk } of chunksOf([this.generation])) {
      text += chunk.text;
      reasoning += chunk.reasoning;
      calls.push(...this.calls.push(chunk));
      logprobs.push(...this.logprobsOf(chunk));
      end ??= this.endOf(chunk);
    }
    const probable = this.logprobs === undefined ? {} : { logprobs };
    return { ...this.head, ...this.said(text, reasoning, calls), ...probable, ...end };
  }

  async *events(): AsyncGenerator<string> {
    /** Log-probabilities of tokens whose text is held back. */
    let held: LogprobList = [];
    for await (const { chunk } of chunksOf([this.generation])) {
      const { text, reasoning } = chunk;
      const calls = this.calls.push(chunk);
      held.push(...this.logprobsOf(chunk));
      if (text !== "" || reasoning !== "" || calls.length > 0) {
        yield JSON.stringify({
          ...this.head,
          ...this.said(text, reasoning, calls),
          ...(held.length === 0 ? {} : { logprobs: held }),
          done: false,
        });
        held = [];
      }
      const end = this.endOf(chunk);
      if (end === undefined) continue;
      const last = held.length === 0 ? {} : { logprobs: held };
      yield JSON.stringify({ ...this.head, ...this.said("", ""), ...last, ...end });
    }
  }

  cancel(): void {
    this.generation.cancel();
  }

  private logprobsOf({ tokens }: GenerationChunk): LogprobList {
    if (this.logprobs === undefined) return [];
    const { tokenizer, top } = this.logprobs;
    return chatLogprobs(tokenizer, tokens).map(({ top_logprobs, ...one }) => ({
      ...withBytes(one),
      ...(top ? { top_logprobs: top_logprobs.map(withBytes) } : {}),
    }));
  }

  private get head() {
    return { model: this.model, created_at: new Date().toISOString() };
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

/** How log-probabilities are reported: absent where none are wanted. */
export interface LogprobOptions {
  readonly tokenizer: Tokenizer;
  /** Whether those of other tokens are reported too. */
  readonly top: boolean;
}

type LogprobList = NonNullable<Logprobs>;

/** Which log-probabilities a request wants. */
export function textOptions(
  { engine }: ServedModel,
  { logprobs, top_logprobs }: Pick<CommonFields, "logprobs" | "top_logprobs">,
): LogprobOptions | undefined {
  return logprobs ? { tokenizer: engine.tokenizer, top: (top_logprobs ?? 0) > 0 } : undefined;
}

function withBytes<T extends { readonly bytes: readonly number[] | null }>(one: T) {
  return { ...one, bytes: [...one.bytes ?? []] };
}

function nanoseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1e6));
}
