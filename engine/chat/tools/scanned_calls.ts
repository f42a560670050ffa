import type { ToolCallPiece } from "./call_piece.ts";
import { type Reading, TextScanner } from "./text_scanner.ts";
import type { ToolCallOutput, ToolCallReader } from "./tool_format.ts";

/** Collects the pieces of calls. */
export class CallOutput {
  private index = -1;
  private pieces: { index: number; id?: string; name?: string; arguments: string }[] = [];

  /** A call begins. */
  begin(name: string, id?: string): void {
    const given = id === undefined ? {} : { id };
    this.pieces.push({ index: ++this.index, ...given, name, arguments: "" });
  }

  /** The text of its arguments goes on. */
  write(text: string): void {
    if (text === "") return;
    const last = this.pieces.at(-1);
    if (last !== undefined) last.arguments += text;
    else this.pieces.push({ index: this.index, arguments: text });
  }

  /** What has come since the last time. */
  take(): readonly ToolCallPiece[] {
    return this.pieces.splice(0);
  }
}

/**
 * Reads calls, one after the other, as long as calls come: what is read of one is certain from its name on.
 * Where none comes, it returns; what is read after {@link TextScanner.mark} then is content.
 */
export type CallReading = (input: TextScanner, output: CallOutput) => Reading<void>;

/** A reader of calls that is written as if all of the text was there. */
export class ScannedCalls implements ToolCallReader {
  private readonly input = new TextScanner();
  private readonly output = new CallOutput();
  private readonly work: Reading<void>;
  private isDone = false;
  /** White space between calls and the end is nothing that is said. */
  private isSaying = false;
  private space = "";

  constructor(reading: CallReading) {
    this.work = reading(this.input, this.output);
  }

  push(text: string): ToolCallOutput {
    this.input.add(text);
    return this.go();
  }

  flush(): ToolCallOutput {
    this.input.end();
    return this.go();
  }

  private go(): ToolCallOutput {
    this.isDone ||= this.work.next().done === true;
    // What is left of a call that was cut off is nothing that is said.
    const isSaid = this.isDone && !this.input.ranOut;
    return { text: isSaid ? this.say(this.input.takeRest()) : "", toolCalls: this.output.take() };
  }

  private say(text: string): string {
    const all = this.space + text;
    this.isSaying ||= all.trim() !== "";
    this.space = this.isSaying ? "" : all;
    return this.isSaying ? all : "";
  }
}
