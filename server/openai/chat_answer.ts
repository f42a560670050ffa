import type { FinishReason, Generation, GenerationChunk, Tokenizer } from "../../engine/mod.ts";
import {
  type Answer,
  cancelAll,
  chunksOf,
  chunksTogether,
  type Timings,
  timingsOf,
  UsageSum,
} from "../answer/mod.ts";
import { type CallDelta, CustomCalls } from "./custom_calls.ts";
import { chatLogprobs } from "./chat_logprobs.ts";
import type { ChatChoice } from "./chat_schemas.ts";
import type { AnswerHead } from "./head.ts";

/** What the first event of a choice has in place of text. */
const FIRST_DELTA = '{"role":"assistant","content":"","refusal":null}';

const NO_CALLS: readonly CallDelta[] = [];

/** An assistant's answer on its way: the running generations, as one answer or as events. */
export class ChatAnswer implements Answer {
  readonly done: Promise<unknown>;
  private readonly tokenizer?: Tokenizer;
  private readonly withUsage: boolean;
  private readonly withTimings: boolean;
  private readonly calls: CustomCalls;

  /**
   * @param head What the answer and all its events begin with.
   * @param generations The choices, all of them of one prompt.
   * @param tokenizer Tells what tokens are called, where log-probabilities are wanted; else absent.
   * @param withUsage Whether the last event tells the usage, and the others that they do not.
   * @param custom The names of the custom tools.
   * @param withTimings Whether the answer, or the first choice's last event, tells how long it took.
   */
  constructor(
    private readonly head: AnswerHead<"chat.completion" | "chat.completion.chunk">,
    private readonly generations: readonly Generation[],
    { tokenizer, withUsage, withTimings = false, custom = new Set() }: {
      tokenizer?: Tokenizer;
      withUsage: boolean;
      custom?: ReadonlySet<string>;
      withTimings?: boolean;
    },
  ) {
    this.tokenizer = tokenizer;
    this.withUsage = withUsage;
    this.withTimings = withTimings;
    this.calls = new CustomCalls(custom);
    this.done = Promise.all(generations.map(({ done }) => done));
  }

  /** The whole answer, when it is done. */
  async whole() {
    const { tokenizer } = this;
    const reasoning = this.generations.map(() => "");
    const choices = this.generations.map((_, index): ChatChoice => ({
      index,
      message: { role: "assistant", content: "", refusal: null },
      logprobs: tokenizer === undefined ? null : { content: [], refusal: null },
      // Every generation that ends otherwise throws.
      finish_reason: "stop",
    }));
    const sum = this.usageSum();
    let timings: Timings | undefined;
    for await (const { index, chunk } of chunksOf(this.generations)) {
      timings ??= this.timings(index, chunk);
      const choice = choices[index];
      choice.message.content += chunk.text;
      addCalls(choice.message, this.callDeltas(index, chunk));
      reasoning[index] += chunk.reasoning;
      if (chunk.finishReason !== undefined) {
        choice.finish_reason = finishOf(
          chunk.finishReason,
          choice.message.tool_calls !== undefined,
        );
      }
      if (chunk.usage !== undefined) sum.add(chunk.usage, index === 0);
      if (tokenizer !== undefined) {
        choice.logprobs!.content.push(...chatLogprobs(tokenizer, chunk.tokens));
      }
    }
    for (const [index, text] of reasoning.entries()) {
      if (text !== "") choices[index].message.reasoning_content = text;
    }
    for (const { message } of choices) {
      if (message.tool_calls !== undefined && message.content === "") message.content = null;
    }
    const took = timings === undefined ? {} : { timings };
    return { ...this.head, choices, usage: sum.usage, ...took };
  }

  /** The answer's events as JSON, pieced together around the head's: this is what the server spends on every token. */
  async *events(): AsyncGenerator<string | readonly string[]> {
    const { withUsage } = this;
    const start = JSON.stringify(this.head).slice(0, -1) + ',"choices":[';
    const end = withUsage ? '],"usage":null}' : "]}";
    const begun = new Set<number>();
    const calling = new Set<number>();
    const sum = this.usageSum();
    for await (const { index, chunks } of chunksTogether(this.generations)) {
      const events: string[] = [];
      const add = (delta: string, logprobs = "null", reason = "null", ending = end) => {
        events.push(
          `${start}{"index":${index},"delta":${delta},"logprobs":${logprobs},"finish_reason":${reason}}${ending}`,
        );
      };
      if (!begun.has(index)) {
        begun.add(index);
        add(FIRST_DELTA);
      }
      for (const chunk of chunks) {
        const { finishReason, usage } = chunk;
        if (chunk.toolCalls?.length) calling.add(index);
        const delta = deltaOf(chunk, this.callDeltas(index, chunk));
        const logprobs = this.logprobs(chunk);
        // Text that is held back needs no event.
        if (delta !== "{}" || logprobs !== "null") add(delta, logprobs);
        if (finishReason !== undefined) {
          const reason = finishOf(finishReason, calling.has(index));
          add("{}", "null", `"${reason}"`, this.ending(end, index, chunk));
        }
        if (usage !== undefined) sum.add(usage, index === 0);
      }
      yield events;
    }
    if (withUsage) yield `${start}],"usage":${JSON.stringify(sum.usage)}}`;
  }

  /** What an event ends with, in the first choice's last one with the times. */
  private ending(end: string, index: number, chunk: GenerationChunk): string {
    const timings = this.timings(index, chunk);
    return timings === undefined
      ? end
      : `${end.slice(0, -1)},"timings":${JSON.stringify(timings)}}`;
  }

  private timings(index: number, { usage }: GenerationChunk): Timings | undefined {
    if (!this.withTimings || index > 0 || usage === undefined) return undefined;
    return timingsOf(this.generations[0], usage);
  }

  /** Ends the generations that run or wait. */
  cancel(): void {
    cancelAll(this.generations);
  }

  private callDeltas(choice: number, { toolCalls }: GenerationChunk): readonly CallDelta[] {
    if (toolCalls === undefined) return NO_CALLS;
    return toolCalls.flatMap((piece) => this.calls.delta(choice, piece) ?? []);
  }

  private logprobs({ tokens }: GenerationChunk): string {
    if (this.tokenizer === undefined) return "null";
    const content = chatLogprobs(this.tokenizer, tokens);
    return content.length === 0 ? "null" : JSON.stringify({ content, refusal: null });
  }

  private usageSum(): UsageSum {
    return new UsageSum(this.generations[0].promptTokens);
  }
}

/** Why an answer has ended: one that calls tools and is complete wants their results. */
function finishOf(reason: FinishReason, calls: boolean): ChatChoice["finish_reason"] {
  return calls && reason === "stop" ? "tool_calls" : reason;
}

/** Puts pieces of calls together. */
function addCalls(message: ChatChoice["message"], deltas: readonly CallDelta[]): void {
  for (const { index, id = "", function: called, custom } of deltas) {
    const calls = message.tool_calls ??= [];
    calls[index] ??= custom === undefined
      ? { id, type: "function", function: { name: called?.name ?? "", arguments: "" } }
      : { id, type: "custom", custom: { name: custom.name ?? "", input: "" } };
    const call = calls[index];
    if (call.type === "custom") call.custom.input += custom?.input ?? "";
    else call.function.arguments += called?.arguments ?? "";
  }
}

/** What a chunk adds to the message, as JSON. */
function deltaOf({ text, reasoning }: GenerationChunk, calls: readonly CallDelta[]): string {
  // So are nearly all.
  if (reasoning === "" && calls.length === 0 && text !== "") {
    return `{"content":${JSON.stringify(text)}}`;
  }
  const fields: string[] = [];
  if (reasoning !== "") fields.push(`"reasoning_content":${JSON.stringify(reasoning)}`);
  if (text !== "") fields.push(`"content":${JSON.stringify(text)}`);
  if (calls.length > 0) fields.push(`"tool_calls":${JSON.stringify(calls)}`);
  return `{${fields.join()}}`;
}
