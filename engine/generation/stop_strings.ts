/**
 * Finds the first stop string in text that arrives in pieces. Text that might be the start of one is
 * held back until it is known not to be.
 */
export class StopStrings {
  private held = "";
  /** The stop string that was met; absent: none so far. Nothing may be pushed after it. */
  met?: string;

  /** @param strings The strings, none of them empty. */
  constructor(private readonly strings: readonly string[]) {}

  /** Takes the next piece of text; gives what of it is certain to come before any stop string. */
  push(text: string): string {
    if (this.strings.length === 0) return text;
    this.held += text;
    const places = this.strings.map((stop) => this.held.indexOf(stop));
    const first = Math.min(...places.filter((at) => at >= 0));
    if (first !== Infinity) {
      this.met = this.strings[places.indexOf(first)];
      return this.held.slice(0, first);
    }
    const keep = Math.max(...this.strings.map((stop) => overlap(this.held, stop)));
    const certain = this.held.slice(0, this.held.length - keep);
    this.held = this.held.slice(this.held.length - keep);
    return certain;
  }

  /** What is held back, when no more text comes. */
  flush(): string {
    const text = this.held;
    this.held = "";
    return text;
  }
}

/** How many characters at the end of `text` are the start of `stop`. */
function overlap(text: string, stop: string): number {
  for (let length = Math.min(text.length, stop.length - 1); length > 0; length--) {
    if (text.endsWith(stop.slice(0, length))) return length;
  }
  return 0;
}
