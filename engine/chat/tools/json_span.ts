/** Finds the end of a JSON object or array in text that comes in pieces. The JSON itself is taken to be right. */
export class JsonSpan {
  private depth = 0;
  private inString = false;
  private escaped = false;
  private begun = false;

  /** Whether its last bracket has come. */
  get isOver(): boolean {
    return this.begun && this.depth === 0;
  }

  /** How many characters at the beginning of a text belong to it. */
  take(text: string): number {
    for (let at = 0; at < text.length; at++) {
      if (this.isOver) return at;
      this.step(text.charCodeAt(at));
    }
    return text.length;
  }

  private step(code: number): void {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (code === BACKSLASH) this.escaped = true;
      else if (code === QUOTE) this.inString = false;
      return;
    }
    if (code === QUOTE) this.inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      this.depth++;
      this.begun = true;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) this.depth--;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
