import type { ContentTrack } from "../../grammar/mod.ts";
import type { Steering } from "../../sampling/mod.ts";
import type { Tokenizer } from "../../tokenizer/mod.ts";
import type { OutputFormat, OutputPiece, OutputReader, ToolCallPiece } from "../reasoning.ts";
import { OpenerSearch } from "./opener_search.ts";
import { ScannedCalls, type ToolCallOutput } from "./scanned_calls.ts";
import type { ToolUse } from "./tool_format.ts";

/** An output's format that separates calls of tools from content. */
export class ToolOutput implements OutputFormat {
  constructor(
    private readonly format: OutputFormat,
    private readonly use: ToolUse,
    private readonly tokenizer: Tokenizer,
  ) {}

  reader(inline = false): OutputReader {
    return new ToolOutputReader(this.format.reader(inline), this.use, this.tokenizer, inline);
  }

  limit(tokens: number): Steering {
    const { format, choice } = this.use;
    const end = choice === "auto" ? undefined : format.whole?.reasoningEnd;
    return this.format.limit(tokens, end);
  }

  content(): ContentTrack {
    return this.format.content();
  }
}

class ToolOutputReader implements OutputReader {
  private readonly search: OpenerSearch;
  /** Once a call has started: what comes is calls to the end. */
  private calls?: ScannedCalls;

  constructor(
    private readonly inner: OutputReader,
    private readonly use: ToolUse,
    private readonly tokenizer: Tokenizer,
    private readonly inline: boolean,
  ) {
    this.search = new OpenerSearch(use.format.openers(use.tools), tokenizer);
  }

  get inReasoning(): boolean {
    return this.calls === undefined && this.inner.inReasoning;
  }

  get inCalls(): boolean {
    return this.calls !== undefined;
  }

  push(token: number, text: string): OutputPiece {
    const isControl = token < this.tokenizer.vocabSize && this.tokenizer.isControl(token);
    if (this.calls !== undefined) {
      return this.called(
        this.calls.push(text + (isControl ? this.tokenizer.tokenText(token) : "")),
      );
    }
    if (this.use.format.whole !== undefined) return this.pushWhole(token, text, isControl);
    const before = this.inner.inReasoning;
    if (isControl && !before && this.search.isPart(token)) {
      // The control token comes behind all text, what is held of it too.
      const held = this.inner.flush(text);
      return this.look(held.text + this.search.mark(token), held.reasoning);
    }
    const piece = this.inner.push(token, text);
    const reasons = this.inline && (before || this.inner.inReasoning);
    if (reasons) return piece;
    const mark = isControl && !before && !this.inner.inReasoning ? this.search.mark(token) : "";
    return this.look(piece.text + mark, piece.reasoning);
  }

  /** A call may begin anywhere; what it begins with is neither reasoning nor content. */
  private pushWhole(token: number, text: string, isControl: boolean): OutputPiece {
    const { opened } = this.search.push(text + (isControl ? this.search.mark(token) : ""));
    if (opened === undefined) return this.inner.push(token, text);
    this.calls = new ScannedCalls(this.use.format.read, this.use.tools);
    return this.called(this.calls.push(opened));
  }

  flush(text: string): OutputPiece {
    const last = this.calls === undefined
      ? this.lookAtEnd(text)
      : this.called(this.calls.push(text));
    if (this.calls === undefined) {
      const held = this.use.format.whole === undefined ? this.search.flush() : "";
      return { ...last, text: last.text + held };
    }
    const rest = this.called(this.calls.flush());
    return { ...last, toolCalls: [...last.toolCalls ?? [], ...rest.toolCalls ?? []] };
  }

  private lookAtEnd(text: string): OutputPiece {
    const end = this.inner.flush(text);
    if (this.use.format.whole !== undefined) return end;
    return this.look(end.text, end.reasoning);
  }

  /** Looks for a call in content. */
  private look(content: string, reasoning: string): OutputPiece {
    const { text, opened } = this.search.push(content);
    if (opened === undefined) return { reasoning, text };
    const calls = this.calls = new ScannedCalls(this.use.format.read, this.use.tools);
    const { text: more, toolCalls } = this.called(calls.push(opened));
    return { reasoning, text: text + more, toolCalls };
  }

  private called({ text, toolCalls }: ToolCallOutput): OutputPiece {
    return { reasoning: "", text, toolCalls: toolCalls.map((piece) => this.withId(piece)) };
  }

  private withId(piece: ToolCallPiece): ToolCallPiece {
    if (piece.name === undefined || piece.id !== undefined) return piece;
    const { index, name, arguments: text } = piece;
    return { index, id: this.use.format.newId?.() ?? newId(), name, arguments: text };
  }
}

function newId(): string {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 24)}`;
}
