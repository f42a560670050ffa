import type { Generation, GenerationChunk } from "../../engine/mod.ts";
import type { Answer } from "../answer.ts";
import { chunksOf } from "../generations.ts";
import type { ContentBlock, MessageEvent, MessageObject, MessageUsage } from "./answer_schemas.ts";

/** What stands for a signature: clients send thinking back only where there is one. */
const SIGNATURE = "m40";

/** What an answer is made with. */
export interface MessageOptions {
  /** The name of the model. */
  readonly model: string;
  readonly maxTokens: number;
  /** Whether the thinking itself is left out. */
  readonly omitThinking: boolean;
}

/** An assistant's message on its way: the running generation, as one message or as events. */
export class MessageAnswer implements Answer {
  readonly done: Promise<void>;
  private readonly id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;

  constructor(
    private readonly generation: Generation,
    private readonly options: MessageOptions,
  ) {
    this.done = generation.done;
  }

  async whole(): Promise<MessageObject> {
    const content: ContentBlock[] = [];
    let end: Partial<MessageObject> = {};
    for await (const { chunk } of chunksOf([this.generation])) {
      for (const { kind, text } of this.pieces(chunk)) {
        if (content.at(-1)?.type !== kind) content.push(emptyBlock(kind, SIGNATURE));
        const block = content.at(-1)!;
        if (block.type === "text") block.text += text;
        else block.thinking += text;
      }
      end = this.endOf(chunk) ?? end;
    }
    return { ...this.head(), content, ...end };
  }

  /** The message's events as JSON; each begins with its type. */
  async *events(): AsyncGenerator<string> {
    let index = -1;
    let open: ContentBlock["type"] | undefined;
    let begun = false;
    const closing = function* (): Generator<string> {
      if (open === "thinking") {
        yield event({
          type: "content_block_delta",
          index,
          delta: { type: "signature_delta", signature: SIGNATURE },
        });
      }
      if (open !== undefined) yield event({ type: "content_block_stop", index });
    };
    for await (const { chunk } of chunksOf([this.generation])) {
      if (!begun) {
        begun = true;
        yield event({ type: "message_start", message: this.head() });
        yield event({ type: "ping" });
      }
      for (const { kind, text } of this.pieces(chunk)) {
        if (open !== kind) {
          yield* closing();
          open = kind;
          index++;
          yield event({
            type: "content_block_start",
            index,
            content_block: emptyBlock(kind, ""),
          });
        }
        // Pieced together: this is what the server spends on every token.
        if (text !== "") {
          yield `{"type":"content_block_delta","index":${index},"delta":{"type":"${kind}_delta","${kind}":${
            JSON.stringify(text)
          }}}`;
        }
      }
      const end = this.endOf(chunk);
      if (end === undefined) continue;
      yield* closing();
      const { usage, ...delta } = end;
      const { cache_creation: _, inference_geo: __, service_tier: ___, speed: ____, ...totals } =
        usage;
      yield event({ type: "message_delta", delta, usage: totals });
      yield event({ type: "message_stop" });
    }
  }

  cancel(): void {
    this.generation.cancel();
  }

  /** What a chunk adds, in order. Thinking that is left out is a piece without text. */
  private *pieces(
    { reasoning, text }: GenerationChunk,
  ): Generator<{ kind: ContentBlock["type"]; text: string }> {
    if (reasoning !== "") {
      yield { kind: "thinking", text: this.options.omitThinking ? "" : reasoning };
    }
    if (text !== "") yield { kind: "text", text };
  }

  /** The message as it begins. */
  private head(): MessageObject {
    return {
      id: this.id,
      type: "message",
      role: "assistant",
      model: this.options.model,
      content: [],
      container: null,
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      diagnostics: null,
      usage: this.usage(0, null),
    };
  }

  /** What the last chunk tells; undefined for the others. */
  private endOf({ finishReason, stopString, usage }: GenerationChunk) {
    if (finishReason === undefined || usage === undefined) return undefined;
    const { completionTokens, reasoningTokens } = usage;
    const full = completionTokens >= this.options.maxTokens;
    const stopped = stopString === undefined ? "end_turn" as const : "stop_sequence" as const;
    const cut = full ? "max_tokens" as const : "model_context_window_exceeded" as const;
    return {
      container: null,
      stop_reason: finishReason === "length" ? cut : stopped,
      stop_sequence: stopString ?? null,
      stop_details: null,
      usage: this.usage(completionTokens, reasoningTokens),
    };
  }

  private usage(output: number, thinking: number | null): MessageUsage {
    const { promptTokens, cachedTokens } = this.generation;
    return {
      input_tokens: promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: output,
      output_tokens_details: thinking === null ? null : { thinking_tokens: thinking },
      server_tool_use: null,
      cache_creation: null,
      inference_geo: null,
      service_tier: "standard",
      speed: null,
    };
  }
}

function emptyBlock(kind: ContentBlock["type"], signature: string): ContentBlock {
  if (kind === "text") return { type: "text", text: "", citations: null };
  return { type: "thinking", thinking: "", signature };
}

function event(event: MessageEvent): string {
  return JSON.stringify(event);
}
