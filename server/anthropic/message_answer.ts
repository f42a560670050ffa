import { Generation, type GenerationChunk, type ToolCallPiece } from "../../engine/mod.ts";
import type { Answer } from "../answer/mod.ts";
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
  readonly work: readonly Generation[];
  /** Whether a tool was called. */
  private called = false;
  private readonly id = `msg_${crypto.randomUUID().replaceAll("-", "")}`;

  constructor(
    private readonly generation: Generation,
    private readonly options: MessageOptions,
  ) {
    this.work = [generation];
  }

  async whole(): Promise<MessageObject> {
    const content: ContentBlock[] = [];
    let end: MessageEnd | undefined;
    /** The text of each call's input. */
    const inputs = new Map<ToolUse, string>();
    let last: Piece | undefined;
    for await (const { chunks } of Generation.together(this.work)) {
      for (const piece of chunks.flatMap((chunk) => this.pieces(chunk))) {
        if (begins(last, piece)) content.push(emptyBlock(piece, SIGNATURE));
        last = piece;
        const block = content.at(-1)!;
        if (block.type === "text") block.text += piece.text;
        else if (block.type === "thinking") block.thinking += piece.text;
        else inputs.set(block, (inputs.get(block) ?? "") + piece.text);
      }
      end = this.endOf(chunks.at(-1)!);
    }
    for (const [block, text] of inputs) block.input = wholeArguments(text) ?? {};
    // A generation that ends without a last chunk throws.
    return { ...this.head(), content, ...end!.delta, usage: { ...end!.usage, ...SERVICE } };
  }

  /** The message's events as JSON; each begins with its type. */
  async *events(): AsyncGenerator<readonly string[]> {
    let index = -1;
    let open: Piece | undefined;
    let events: string[] = [];
    const close = () => {
      if (open?.kind === "thinking") {
        const delta = { type: "signature_delta", signature: SIGNATURE } as const;
        events.push(event({ type: "content_block_delta", index, delta }));
      }
      if (open !== undefined) events.push(event({ type: "content_block_stop", index }));
    };
    let started = false;
    for await (const { chunks } of Generation.together(this.work)) {
      if (!started) {
        started = true;
        events.push(event({ type: "message_start", message: this.head() }));
        events.push(event({ type: "ping" }));
      }
      for (const chunk of chunks) {
        for (const piece of this.pieces(chunk)) {
          if (begins(open, piece)) {
            close();
            index++;
            const content_block = emptyBlock(piece, "");
            events.push(event({ type: "content_block_start", index, content_block }));
          }
          open = piece;
          // Pieced together: this is what the server spends on every token.
          if (piece.text !== "") {
            events.push(
              `{"type":"content_block_delta","index":${index},"delta":{${DELTAS[piece.kind]}:${
                JSON.stringify(piece.text)
              }}}`,
            );
          }
        }
      }
      const end = this.endOf(chunks.at(-1)!);
      if (end !== undefined) {
        close();
        events.push(event({ type: "message_delta", ...end }), event({ type: "message_stop" }));
      }
      yield events;
      events = [];
    }
  }

  /** What a chunk adds, in order. Thinking that is left out is a piece without text. */
  private pieces({ reasoning, text, toolCalls = [] }: GenerationChunk): Piece[] {
    const pieces: Piece[] = [];
    if (reasoning !== "") {
      pieces.push({ kind: "thinking", text: this.options.omitThinking ? "" : reasoning });
    }
    if (text !== "") pieces.push({ kind: "text", text });
    for (const call of toolCalls) {
      this.called = true;
      pieces.push({ kind: "tool_use", text: call.arguments, call });
    }
    return pieces;
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
