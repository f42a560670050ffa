/** A place in a text that is parsed, a character (code point) at a time. */
export class TextCursor {
  at = 0;

  constructor(readonly text: string) {}

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** The character that comes next; empty at the end. */
  get next(): string {
    const code = this.text.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  /** Takes the next character. */
  take(): string {
    const { next } = this;
    this.at += next.length;
    return next;
  }

  /** Takes a text, if it comes next. */
  takeIf(text: string): boolean {
    if (!this.text.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  /** Takes what a sticky expression matches here; undefined where it does not. */
  match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at;
    const found = expression.exec(this.text);
    if (found === null) return undefined;
    this.at += found[0].length;
    return found;
  }

  /** What comes next, for a message. */
  describe(): string {
    if (this.isAtEnd) return "the end";
    return this.next === "\n" ? "a new line" : JSON.stringify(this.next);
  }

  /** The line and the column of a place, both from 1. */
  position(at = this.at): { line: number; column: number } {
    const before = this.text.slice(0, at);
    const lineStart = before.lastIndexOf("\n") + 1;
    return {
      line: before.split("\n").length,
      column: [...before.slice(lineStart)].length + 1,
    };
  }
}
