import type { Generation, GenerationChunk } from "../../engine/mod.ts";
import type { Answer } from "../answer.ts";
import { chunksOf } from "../generations.ts";
import type { AnswerEnd } from "./fields.ts";
import { type AnsweredCall, WholeCalls } from "./tools.ts";

/** What the two routes tell apart: the text, reasoning and calls of an answer or of a piece of it, as its fields. */
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
  ) {
    this.done = generation.done;
  }

  async whole(): Promise<object> {
    let [text, reasoning] = ["", ""];
    const calls: AnsweredCall[] = [];
    let end: AnswerEnd | undefined;
    for await (const { chunk } of chunksOf([this.generation])) {
      text += chunk.text;
      reasoning += chunk.reasoning;
      calls.push(...this.calls.push(chunk));
      end ??= this.endOf(chunk);
    }
    return { ...this.head, ...this.said(text, reasoning, calls), ...end };
  }

  async *events(): AsyncGenerator<string> {
    for await (const { chunk } of chunksOf([this.generation])) {
      const { text, reasoning } = chunk;
      const calls = this.calls.push(chunk);
      if (text !== "" || reasoning !== "" || calls.length > 0) {
        yield JSON.stringify({ ...this.head, ...this.said(text, reasoning, calls), done: false });
      }
      const end = this.endOf(chunk);
      if (end !== undefined) yield JSON.stringify({ ...this.head, ...this.said("", ""), ...end });
    }
  }

  cancel(): void {
    this.generation.cancel();
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

function nanoseconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds * 1e6));
}
