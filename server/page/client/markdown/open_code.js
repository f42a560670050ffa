import { CodeBlock } from "./code_block.js";

/** A fenced block of code whose end has not come yet: what comes is added to it as it is. */
export class OpenCode {
  /**
   * @param {import("./parser.js").Token} fence
   * @param {string} text  What there is of it, the line of the fence included
   */
  constructor({ info, markup }, text) {
    this.block = new CodeBlock(info.trim().split(/\s+/, 1)[0]);
    this.closer = closerOf(markup);
    this.indent = /^ */.exec(text)?.[0].length ?? 0;
    /** The start of a line is held back while it may become the end. */
    this.held = "";
    /** Whether a part of the line is shown. */
    this.inLine = false;
    this.append(text.slice(text.indexOf("\n") + 1));
  }

  /**
   * Whether the last block of a text, a fenced one, may go on.
   *
   * @param {string} text  With the whole line of the fence
   * @param {{tokens: import("./parser.js").Token[], line: number, end: number}} block
   */
  static isOpen(text, { tokens: [{ markup }], line, end }) {
    const lines = text.split("\n").slice(line, end);
    const closed = lines.length > 1 && closerOf(markup).test(lines[lines.length - 1]);
    // A closing line that has not ended may yet become another one.
    return !closed || !text.endsWith("\n");
  }

  /**
   * Adds to it. @returns What follows on its end, where that has come.
   *
   * @param {string} text
   */
  append(text) {
    let shown = "";
    for (let at = 0; at < text.length;) {
      const end = text.indexOf("\n", at);
      const part = end < 0 ? text.slice(at) : text.slice(at, end + 1);
      at += part.length;
      if (this.inLine) {
        shown += part;
        this.inLine = end < 0;
        continue;
      }
      const line = this.held + part;
      this.held = "";
      if (end >= 0 && this.closer.test(line.slice(0, -1))) {
        this.block.append(shown);
        this.block.finish();
        return text.slice(at);
      }
      if (end < 0 && /^[ \t`~]*$/.test(line)) this.held = line;
      else {
        shown += this.unindented(line);
        this.inLine = end < 0;
      }
    }
    this.block.append(shown);
    return undefined;
  }

  /** The text is complete. */
  finish() {
    if (!this.closer.test(this.held)) this.block.append(this.unindented(this.held));
    this.block.finish();
  }

  /** @param {string} line */
  unindented(line) {
    let at = 0;
    while (at < this.indent && line[at] === " ") at++;
    return line.slice(at);
  }
}

/** What ends a block that started with those signs. @param {string} markup */
function closerOf(markup) {
  return new RegExp(`^ {0,3}${markup[0]}{${markup.length},}[ \\t]*$`);
}
