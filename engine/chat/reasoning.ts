import type { ContentTrack } from "../grammar/mod.ts";
import type { Steering } from "../sampling/mod.ts";

/** A piece of a tool call on its way. */
export interface ToolCallPiece {
  /** Which call of the answer it is of, from 0. */
  readonly index: number;
  /** In a call's first piece only. */
  readonly id?: string;
  /** In a call's first piece only. */
  readonly name?: string;
  /** What the text of its arguments, a JSON object, goes on with; may be empty. */
  readonly arguments: string;
}

/** A piece of output, reasoning or content. */
export interface OutputPiece {
  /** What the model thinks. */
  readonly reasoning: string;
  /** What it says to the user. */
  readonly text: string;
  /** What it calls after that. */
  readonly toolCalls?: readonly ToolCallPiece[];
}

/** Nothing is certain yet. */
export const NO_OUTPUT: OutputPiece = { reasoning: "", text: "" };

/** Separates reasoning from content in one output, as its tokens arrive. */
export interface OutputReader {
  /** Whether the next token is one of reasoning. */
  readonly inReasoning: boolean;
  /** Whether calls of tools have started: all that comes is of them. */
  readonly inCalls?: boolean;
  /**
   * What is certain now. A piece of text that may be the start of a tag is held back.
   *
   * @param token The sampled token.
   * @param text The text that the decoder gave for it; empty for a control token.
   */
  push(token: number, text: string): OutputPiece;
  /** Takes text that belongs to no token any more, and gives what was held back: the output is over. */
  flush(text: string): OutputPiece;
}

/** How a model's output separates its reasoning from its content. */
export interface OutputFormat {
  /**
   * Begins to read an output.
   *
   * @param inline Whether all of it is text, as it came, with the tags of its reasoning.
   */
  reader(inline?: boolean): OutputReader;
  /**
   * Ends the reasoning of one output after that many tokens: the tags that the model would
   * write come next, whatever it would say.
   */
  limit(tokens: number, end?: string): Steering;
  /** Where content is in one output. */
  content(): ContentTrack;
}

/** Gives everything as it came, and knows still where reasoning is. */
export class InlineReader implements OutputReader {
  /** @param hidden The tags that the decoder gives no text for. */
  constructor(
    private readonly reader: OutputReader,
    private readonly hidden: ReadonlyMap<number, string>,
  ) {}

  get inReasoning(): boolean {
    return this.reader.inReasoning;
  }

  push(token: number, text: string): OutputPiece {
    this.reader.push(token, text);
    return { reasoning: "", text: text + (this.hidden.get(token) ?? "") };
  }

  flush(text: string): OutputPiece {
    return { reasoning: "", text };
  }
}

/** How many characters at the end of `text` are the start of `tag`, but not all of it. */
export function overlap(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
