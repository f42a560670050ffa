import type { Generation, GenerationChunk, ToolCallPiece } from "../../engine/mod.ts";
import { type Answer, chunksOf } from "../answer/mod.ts";
import { wholeArguments } from "../request/mod.ts";
import type { ContentBlock, MessageEvent, MessageObject, MessageUsage } from "./answer_schemas.ts";

/** What stands for a signature: clients send thinking back only where there is one. */
const SIGNATURE = "m40";

/** What a whole message's usage reports in addition to the counts. */
const SERVICE = { service_tier: "standard" } as const;

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
  /** Whether a tool was called. */
  private called = false;
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
    /** The text of each call's input. */
    const inputs = new Map<ToolUse, string>();
    let last: Piece | undefined;
    for await (const { chunk } of chunksOf([this.generation])) {
      for (const piece of this.pieces(chunk)) {
        if (begins(last, piece)) content.push(emptyBlock(piece, SIGNATURE));
        last = piece;
        const block = content.at(-1)!;
        if (block.type === "text") block.text += piece.text;
        else if (block.type === "thinking") block.thinking += piece.text;
        else inputs.set(block, (inputs.get(block) ?? "") + piece.text);
      }
      end = this.endOf(chunk) ?? end;
    }
    for (const [block, text] of inputs) block.input = wholeArguments(text) ?? {};
    // A generation that ends without a last chunk throws.
    return { ...this.head(), content, ...end!.delta, usage: { ...end!.usage, ...SERVICE } };
  }

  /** The message's events as JSON; each begins with its type. */
  async *events(): AsyncGenerator<string> {
    let index = -1;
    let open: Piece | undefined;
    let started = false;
    const closing = function* (): Generator<string> {
      if (open?.kind === "thinking") {
        yield event({
          type: "content_block_delta",
          index,
          delta: { type: "signature_delta", signature: SIGNATURE },
        });
      }
      if (open !== undefined) yield event({ type: "content_block_stop", index });
    };
    for await (const { chunk } of chunksOf([this.generation])) {
      if (!started) {
        started = true;
        yield event({ type: "message_start", message: this.head() });
        yield event({ type: "ping" });
      }
      for (const piece of this.pieces(chunk)) {
        if (begins(open, piece)) {
          yield* closing();
          index++;
          yield event({
            type: "content_block_start",
            index,
            content_block: emptyBlock(piece, ""),
          });
        }
        open = piece;
        // Pieced together: this is what the server spends on every token.
        if (piece.text !== "") {
          yield `{"type":"content_block_delta","index":${index},"delta":{${DELTAS[piece.kind]}:${
            JSON.stringify(piece.text)
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
    { reasoning, text, toolCalls = [] }: GenerationChunk,
  ): Generator<Piece> {
    if (reasoning !== "") {
      yield { kind: "thinking", text: this.options.omitThinking ? "" : reasoning };
    }
    if (text !== "") yield { kind: "text", text };
    for (const call of toolCalls) {
      this.called = true;
      yield { kind: "tool_use", text: call.arguments, call };
    }
  }

  /** The message as it begins. */
  private head(): MessageObject {
    return {
      id: this.id,
      type: "message",
      role: "assistant",
      model: this.options.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...this.totals(0), ...SERVICE },
    };
  }

  /** What the last chunk reports; undefined for the others. */
  private endOf({ finishReason, stopString, usage }: GenerationChunk): MessageEnd | undefined {
    if (finishReason === undefined || usage === undefined) return undefined;
    const { completionTokens, reasoningTokens } = usage;
    const cut = completionTokens >= this.options.maxTokens
      ? "max_tokens"
      : "model_context_window_exceeded";
    const ended = this.called ? "tool_use" : "end_turn";
    const stopped = stopString === undefined ? ended : "stop_sequence";
    return {
      delta: {
        stop_reason: finishReason === "length" ? cut : stopped,
        stop_sequence: stopString ?? null,
      },
      usage: this.totals(completionTokens, { thinking_tokens: reasoningTokens }),
    };
  }

  private totals(
    output: number,
    details?: MessageUsage["output_tokens_details"],
  ): MessageEnd["usage"] {
    const { promptTokens, cachedTokens } = this.generation;
    return {
      input_tokens: promptTokens - cachedTokens,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      output_tokens: output,
      ...(details === undefined ? {} : { output_tokens_details: details }),
    };
  }
}

/** What a delta of each kind of block begins with, up to the name of its text. */
const DELTAS: Readonly<Record<ContentBlock["type"], string>> = {
  text: '"type":"text_delta","text"',
  thinking: '"type":"thinking_delta","thinking"',
  tool_use: '"type":"input_json_delta","partial_json"',
};

type ToolUse = ContentBlock & { readonly type: "tool_use" };

/** A piece of a block. */
interface Piece {
  readonly kind: ContentBlock["type"];
  readonly text: string;
  /** The call that it is of. */
  readonly call?: ToolCallPiece;
}

/** Whether a piece is of another block than the one before. */
function begins(before: Piece | undefined, { kind, call }: Piece): boolean {
  return before?.kind !== kind || before.call?.index !== call?.index;
}

/** A block as it begins. */
function emptyBlock({ kind, call }: Piece, signature: string): ContentBlock {
  if (kind === "text") return { type: "text", text: "" };
  if (kind === "thinking") return { type: "thinking", thinking: "", signature };
  // The first piece of a call has both.
  const { id, name } = call!;
  return { type: "tool_use", id: id!, name: name!, input: {}, caller: { type: "direct" } };
}

function event(event: MessageEvent): string {
  return JSON.stringify(event);
}
