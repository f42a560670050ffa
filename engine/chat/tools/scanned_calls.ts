import type { Tool } from "../conversation.ts";
import type { ToolCallPiece } from "../reasoning.ts";
import { type Reading, TextScanner } from "./text_scanner.ts";

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
  readonly write = (text: string): void => {
    if (text === "") return;
    const last = this.pieces.at(-1);
    if (last !== undefined) last.arguments += text;
    else this.pieces.push({ index: this.index, arguments: text });
  };

  /** What has come since the last time. */
  take(): readonly ToolCallPiece[] {
    return this.pieces.splice(0);
  }
}

/**
 * Reads calls, one after the other, as long as calls come: what is read of one is certain from its name on.
 * Where none comes, it returns; what is read after {@link TextScanner.mark} then is content.
 *
 * @param tools Those that may be called.
 */
export type CallReading = (
  input: TextScanner,
  output: CallOutput,
  tools: readonly Tool[],
) => Reading<void>;

/** What is certain of an answer's calls. */
export interface ToolCallOutput {
  /** Text that turned out to be no call. */
  readonly text: string;
  readonly toolCalls: readonly ToolCallPiece[];
}

/** Reads the calls of one answer as their text comes: control tokens by their texts. */
export class ScannedCalls {
  private readonly input = new TextScanner();
  private readonly output = new CallOutput();
  private readonly work: Reading<void>;
  private isDone = false;
  /** White space between calls and the end is nothing that is said. */
  private isSaying = false;
  private space = "";

  /** @param read Is written as if all of the text was there. */
  constructor(read: CallReading, tools: readonly Tool[]) {
    this.work = read(this.input, this.output, tools);
  }

  /** What is certain now. The arguments' JSON comes as it is written, in pieces. */
  push(text: string): ToolCallOutput {
    this.input.add(text);
    return this.go();
  }

  /** What was held back: the answer is over, perhaps within a call. */
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
