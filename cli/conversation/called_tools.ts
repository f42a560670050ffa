import type { ToolCall } from "../../engine/mod.ts";
import type { ToolCallPiece } from "../../engine/chat/mod.ts";

/** A call that was answered. */
export interface CalledTool {
  readonly call: ToolCall;
  /** What the model gets as its result: the tool's result, or why there is none. */
  readonly result: string;
}

/** Puts the calls of one answer together out of their pieces. */
export class CallCollector {
  readonly #calls: { id: string; name: string; arguments: string }[] = [];

  push(pieces: readonly ToolCallPiece[]): void {
    for (const { index, id, name, arguments: text } of pieces) {
      const call = this.#calls[index] ??= { id: "", name: "", arguments: "" };
      call.id = id ?? call.id;
      call.name = name ?? call.name;
      call.arguments += text;
    }
  }

  /** The calls so far. The last one may be cut. */
  get calls(): readonly ToolCall[] {
    return this.#calls.filter((call) => call !== undefined);
  }
}
