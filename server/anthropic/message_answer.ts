import type { Generation, GenerationChunk } from "../../engine/mod.ts";
import type { Answer } from "../answer.ts";
import { chunksOf } from "../generations.ts";
import type { ContentBlock, MessageEvent, MessageObject, MessageUsage } from "./answer_schemas.ts";

/** What stands for a signature: clients send thinking back only where there is one. */
const SIGNATURE = "m40";

/** What a message's usage tells of what m40 does not have. */
const NO_USAGE = {
  cache_creation: null,
  inference_geo: null,
  service_tier: "standard",
  speed: null,
} as const;

/** What ends a message. */
type MessageEnd = Omit<MessageEvent & { type: "message_delta" }, "type">;

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
    let end: MessageEnd | undefined;
    for await (const { chunk } of chunksOf([this.generation])) {
      for (const { kind, text } of this.pieces(chunk)) {
        if (content.at(-1)?.type !== kind) content.push(emptyBlock(kind, SIGNATURE));
        const block = content.at(-1)!;
        if (block.type === "text") block.text += text;
        else block.thinking += text;
      }
      end = this.endOf(chunk) ?? end;
    }
    // A generation that ends without a last chunk throws.
    return { ...this.head(), content, ...end!.delta, usage: { ...end!.usage, ...NO_USAGE } };
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
      yield event({ type: "message_delta", ...end });
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
      usage: { ...this.totals(0, null), ...NO_USAGE },
    };
  }

  /** What the last chunk tells; undefined for the others. */
  private endOf({ finishReason, stopString, usage }: GenerationChunk): MessageEnd | undefined {
    if (finishReason === undefined || usage === undefined) return undefined;
    const { completionTokens, reasoningTokens } = usage;
    const cut = completionTokens >= this.options.maxTokens
      ? "max_tokens"
      : "model_context_window_exceeded";
    const stopped = stopString === undefined ? "end_turn" : "stop_sequence";
    return {
      delta: {
        container: null,
        stop_reason: finishReason === "length" ? cut : stopped,
        stop_sequence: stopString ?? null,
        stop_details: null,
      },
      usage: this.totals(completionTokens, { thinking_tokens: reasoningTokens }),
    };
  }

  private totals(
    output: number,
    details: MessageUsage["output_tokens_details"],
  ): MessageEnd["usage"] {
    const { promptTokens, cachedTokens } = this.generation;
    return {
      input_tokens: promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: output,
      output_tokens_details: details,
      server_tool_use: null,
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
