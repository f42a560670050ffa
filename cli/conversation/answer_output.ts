import { printable, style, write } from "../terminal/mod.ts";
import type { Said } from "./conversation.ts";

/**
 * Writes an answer to standard output. On a terminal what the model thinks is dimmed, or in brackets where
 * nothing can be dimmed; in a file or a pipe it has no place.
 */
export class AnswerOutput {
  private readonly terminal = Deno.stdout.isTerminal();
  private readonly dims = style(Deno.stdout, "dim", "-") !== "-";
  private text = "";
  private reasoning = "";
  /** What was written last. */
  private last = "";
  private thinking = false;

  /** @param showReasoning Whether it is shown on a terminal what the model thinks. */
  constructor(private readonly showReasoning: boolean) {}

  /** All that was said until now. */
  get said(): Said {
    return { text: this.text, reasoning: this.reasoning };
  }

  /** Writes a piece. */
  async push(reasoning: string, text: string): Promise<void> {
    this.reasoning += reasoning;
    this.text += text;
    if (reasoning !== "" && this.terminal && this.showReasoning) {
      await this.think(reasoning);
    }
    if (text === "") return;
    await this.endThinking();
    await this.show(this.terminal ? printable(text) : text);
  }

  /** The answer is over: a shell's prompt, or the next one here, begins on a new line. */
  async end(): Promise<void> {
    await this.endThinking();
    if (this.terminal && this.last !== "" && !this.last.endsWith("\n")) await this.show("\n");
  }

  private async think(reasoning: string): Promise<void> {
    if (!this.thinking && !this.dims) await this.show("[thinking]\n");
    this.thinking = true;
    const safe = printable(reasoning);
    await write(style(Deno.stdout, "dim", safe));
    this.last = safe;
  }

  private async endThinking(): Promise<void> {
    if (!this.thinking) return;
    this.thinking = false;
    if (!this.last.endsWith("\n")) await this.show("\n");
    await this.show(this.dims ? "\n" : "[answer]\n");
  }

  private async show(text: string): Promise<void> {
    await write(text);
    this.last = text;
  }
}
