/** What {@link StopStrings.push} gives back. */
export interface StopResult {
  /** Text that is certain to come before any stop string. */
  readonly text: string;
  /** Whether a stop string was met; nothing may be pushed after that. */
  readonly stopped: boolean;
}

/**
 * Finds the first stop string in text that arrives in pieces. Text that might be the start of one is
 * held back until it is known not to be.
 */
export class StopStrings {
  private held = "";
  private found?: string;

  /** @param strings The strings, none of them empty. */
  constructor(private readonly strings: readonly string[]) {}

  /** The stop string that was met; undefined: none so far. */
  get met(): string | undefined {
    return this.found;
  }

  /** Takes the next piece of text. */
  push(text: string): StopResult {
    if (this.strings.length === 0) return { text, stopped: false };
    this.held += text;
    const places = this.strings.map((stop) => this.held.indexOf(stop));
    const first = Math.min(...places.filter((at) => at >= 0));
    if (first !== Infinity) {
      this.found = this.strings[places.indexOf(first)];
      return { text: this.held.slice(0, first), stopped: true };
    }
    const keep = Math.max(...this.strings.map((stop) => overlap(this.held, stop)));
    const certain = this.held.slice(0, this.held.length - keep);
    this.held = this.held.slice(this.held.length - keep);
    return { text: certain, stopped: false };
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
