import type { ToolCallPiece } from "./call_piece.ts";
import { JsonSpan } from "./json_span.ts";
import type { ToolCallOutput, ToolCallReader } from "./tool_format.ts";

/**
 * What readers of calls share: text is held until a step can be made with it. A step takes from the beginning of
 * {@link held}, and says whether it could.
 */
export abstract class SteppedReader implements ToolCallReader {
  protected held = "";
  private text = "";
  private pieces: ToolCallPiece[] = [];
  private count = 0;

  push(text: string): ToolCallOutput {
    this.held += text;
    while (this.held !== "" && this.step()) { /* as far as it goes */ }
    return this.given();
  }

  flush(): ToolCallOutput {
    this.finish();
    this.held = "";
    return this.given();
  }

  /** Takes what is complete from {@link held}; false where more of it has to come. */
  protected abstract step(): boolean;

  /** The answer is over; {@link held} has what no step took. Default: it is dropped, a part of a call. */
  protected finish(): void {}

  /** Takes what a text begins with; undefined, and nothing taken, where it does not match or may go on. */
  protected take(pattern: RegExp): RegExpExecArray | undefined {
    const found = pattern.exec(this.held);
    if (found === null) return undefined;
    this.held = this.held.slice(found.index + found[0].length);
    return found;
  }

  /** Begins a call. */
  protected begin(name: string, id?: string): void {
    this.pieces.push({
      index: this.count++,
      name,
      arguments: "",
      ...(id === undefined ? {} : { id }),
    });
  }

  /** Goes on with the arguments of the last call. */
  protected argue(text: string): void {
    if (text !== "") this.pieces.push({ index: this.count - 1, arguments: text });
  }

  /** Goes on with the arguments of the last call by what of {@link held} belongs to their JSON. */
  protected argueJson(span: JsonSpan): void {
    const length = span.take(this.held);
    this.argue(this.held.slice(0, length));
    this.held = this.held.slice(length);
  }

  /** Says that something was no call. */
  protected say(text: string): void {
    this.text += text;
  }

  private given(): ToolCallOutput {
    const { text, pieces } = this;
    this.text = "";
    this.pieces = [];
    return { text, toolCalls: joined(pieces) };
  }
}

export { JsonSpan };

/** Pieces of one call, one after the other, as one. */
function joined(pieces: readonly ToolCallPiece[]): ToolCallPiece[] {
  const all: ToolCallPiece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (last === undefined || last.index !== piece.index) all.push(piece);
    else all[all.length - 1] = { ...last, arguments: last.arguments + piece.arguments };
  }
  return all;
}
