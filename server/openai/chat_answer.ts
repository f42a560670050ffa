import {
  type FinishReason,
  Generation,
  type GenerationChunk,
  type Tokenizer,
  type ToolCallPiece,
  type Usage as EngineUsage,
} from "../../engine/mod.ts";
import { type Answer, timingsOf, usageOf } from "../answer/mod.ts";
import { chatLogprobs } from "./chat_logprobs.ts";
import type { ChatChoice } from "./chat_schemas.ts";
import { customNames } from "./chat_tools.ts";
import { InputReader } from "./custom_input.ts";
import type { AnswerHead } from "./head.ts";

/** What the first event of a choice has in place of text. */
const FIRST_DELTA = '{"role":"assistant","content":"","refusal":null}';

/** What a piece of a call is in a stream; id, type and name come with a call's first piece. */
interface CallDelta {
  readonly index: number;
  readonly id?: string;
  readonly type?: "function" | "custom";
  readonly function?: { readonly name?: string; readonly arguments: string };
  readonly custom?: { readonly name?: string; readonly input: string };
}

/** What is reported with an answer. */
interface ChatOptions {
  /** Tells what tokens are called, where log-probabilities are wanted; else absent. */
  readonly tokenizer?: Tokenizer;
  /** Whether the last event tells the usage, and the others that they do not. */
  readonly withUsage: boolean;
  /** Whether the answer, or the first choice's last event, tells how long it took. */
  readonly withTimings: boolean;
  /** The request's tools, some of which may be custom ones. */
  readonly tools?: readonly unknown[] | null;
}

/** An assistant's answer on its way: the running generations, as one answer or as events. */
export class ChatAnswer implements Answer {
  private calls?: CallReader;

  /**
   * @param head What the answer and all its events begin with.
   * @param work The choices, all of them of one prompt.
   */
  constructor(
    private readonly head: AnswerHead<"chat.completion" | "chat.completion.chunk">,
    readonly work: readonly Generation[],
    private readonly options: ChatOptions,
  ) {}

  /** The whole answer, when it is done. */
  async whole() {
    const { work, options: { tokenizer, withTimings } } = this;
    const choices = work.map((_, index): ChatChoice => ({
      index,
      message: { role: "assistant", content: "", refusal: null },
      logprobs: tokenizer === undefined ? null : { content: [], refusal: null },
      // Every generation that ends otherwise throws.
      finish_reason: "stop",
    }));
    const reasoning = work.map(() => "");
    const usages: (EngineUsage | undefined)[] = [];
    for await (const { index, chunks } of Generation.together(work)) {
      const choice = choices[index];
      const { message } = choice;
      for (const { text, reasoning: thought, toolCalls, tokens, finishReason, usage } of chunks) {
        message.content += text;
        reasoning[index] += thought;
        if (toolCalls !== undefined) addCalls(message, this.callDeltas(index, toolCalls));
        if (tokenizer !== undefined) {
          choice.logprobs!.content.push(...chatLogprobs(tokenizer, tokens));
        }
        if (finishReason !== undefined) {
          choice.finish_reason = finishOf(finishReason, message.tool_calls !== undefined);
        }
        usages[index] = usage;
      }
    }
    for (const [index, { message }] of choices.entries()) {
      if (reasoning[index] !== "") message.reasoning_content = reasoning[index];
      if (message.tool_calls !== undefined && message.content === "") message.content = null;
    }
    const took = withTimings && usages[0] ? { timings: timingsOf(work[0], usages[0]) } : {};
    return { ...this.head, choices, usage: usageOf(work, usages), ...took };
  }

  /** The answer's events as JSON, pieced together around the head's: this is what the server spends on every token. */
  async *events(): AsyncGenerator<string | readonly string[]> {
    const { work, options: { tokenizer, withUsage, withTimings } } = this;
    const start = JSON.stringify(this.head).slice(0, -1) + ',"choices":[';
    const end = withUsage ? '],"usage":null}' : "]}";
    const begun = new Set<number>();
    const calling = new Set<number>();
    const usages: (EngineUsage | undefined)[] = [];
    for await (const { index, chunks } of Generation.together(work)) {
      const events: string[] = [];
      const choice = `${start}{"index":${index},"delta":`;
      if (!begun.has(index)) {
        begun.add(index);
        events.push(`${choice}${FIRST_DELTA},"logprobs":null,"finish_reason":null}${end}`);
      }
      for (const chunk of chunks) {
        const { toolCalls, finishReason, usage } = chunk;
        if (toolCalls?.length) calling.add(index);
        const delta = deltaOf(chunk, toolCalls && this.callDeltas(index, toolCalls));
        const logprobs = tokenizer === undefined ? "null" : logprobsOf(tokenizer, chunk);
        // Text that is held back needs no event.
        if (delta !== "{}" || logprobs !== "null") {
          events.push(`${choice}${delta},"logprobs":${logprobs},"finish_reason":null}${end}`);
        }
        if (finishReason === undefined) continue;
        const reason = finishOf(finishReason, calling.has(index));
        const last = withTimings && index === 0 && usage !== undefined
          ? `${end.slice(0, -1)},"timings":${JSON.stringify(timingsOf(work[0], usage))}}`
          : end;
        events.push(`${choice}{},"logprobs":null,"finish_reason":"${reason}"}${last}`);
        usages[index] = usage;
      }
      yield events;
    }
    if (withUsage) yield `${start}],"usage":${JSON.stringify(usageOf(work, usages))}}`;
  }

  private callDeltas(choice: number, pieces: readonly ToolCallPiece[]): CallDelta[] {
    const calls = this.calls ??= new CallReader(customNames(this.options.tools));
    return pieces.flatMap((piece) => calls.delta(choice, piece) ?? []);
  }
}

/** Separates calls of custom tools, which are functions with one text to the model, from those of functions. */
class CallReader {
  /** The inputs of the custom tools' calls, by the choice's and the call's number. */
  private readonly inputs = new Map<string, InputReader>();

  /** @param custom The names of the custom tools. */
  constructor(private readonly custom: ReadonlySet<string>) {}

  /** What a client gets of a piece; undefined: nothing yet. */
  delta(
    choice: number,
    { index, id, name, arguments: text }: ToolCallPiece,
  ): CallDelta | undefined {
    const key = `${choice}.${index}`;
    if (name !== undefined && this.custom.has(name)) this.inputs.set(key, new InputReader());
    const input = this.inputs.get(key);
    if (input === undefined) {
      return name === undefined
        ? { index, function: { arguments: text } }
        : { index, id, type: "function", function: { name, arguments: text } };
    }
    const more = input.push(text);
    if (name !== undefined) return { index, id, type: "custom", custom: { name, input: more } };
    return more === "" ? undefined : { index, custom: { input: more } };
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
function deltaOf({ text, reasoning }: GenerationChunk, calls: readonly CallDelta[] = []): string {
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

function logprobsOf(tokenizer: Tokenizer, { tokens }: GenerationChunk): string {
  const content = chatLogprobs(tokenizer, tokens);
  return content.length === 0 ? "null" : JSON.stringify({ content, refusal: null });
}
