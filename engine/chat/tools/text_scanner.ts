import { overlap } from "../reasoning.ts";

/** Work on a text that arrives in pieces: it yields where it needs more of it. */
export type Reading<T> = Generator<undefined, T, undefined>;

/** What becomes of a character: it is taken and more may follow, it is the last one, or it is none of it. */
export type Step = "more" | "last" | "behind";

/** A text that arrives in pieces, read from its start to its end. */
export class TextScanner {
  private buffer = "";
  private at = 0;
  /** From where on nothing is certain yet. */
  private marked?: number;
  private ended = false;
  private missed = false;

  /** Whether something was wanted where the text has ended. */
  get ranOut(): boolean {
    return this.missed;
  }

  /** More of the text. */
  add(text: string): void {
    const keep = Math.min(this.at, this.marked ?? this.at);
    this.buffer = this.buffer.slice(keep) + text;
    this.at -= keep;
    if (this.marked !== undefined) this.marked -= keep;
  }

  /** Nothing more comes. */
  end(): void {
    this.ended = true;
  }

  /** From here on what is read may be given back. */
  mark(): void {
    this.marked = this.at;
  }

  /** What was read is certain. */
  commit(): void {
    this.marked = undefined;
  }

  /** All that is not certain, and what was not read. */
  takeRest(): string {
    const rest = this.buffer.slice(this.marked ?? this.at);
    this.marked = undefined;
    this.at = this.buffer.length;
    return rest;
  }

  /** The next character; an empty text at the end. */
  *peek(): Reading<string> {
    while (this.at === this.buffer.length && !this.ended) yield;
    this.missed ||= this.at === this.buffer.length;
    const code = this.buffer.codePointAt(this.at);
    return code === undefined ? "" : String.fromCodePoint(code);
  }

  /** Reads a text if it comes next. */
  *accept(wanted: string): Reading<boolean> {
    for (;;) {
      if (this.buffer.startsWith(wanted, this.at)) {
        this.at += wanted.length;
        return true;
      }
      if (!wanted.startsWith(this.buffer.slice(this.at, this.at + wanted.length))) return false;
      if (this.ended) {
        this.missed = true;
        return false;
      }
      yield;
    }
  }

  /** The same behind white space, which is read in any case. */
  *acceptSpaced(wanted: string): Reading<boolean> {
    yield* this.space();
    return yield* this.accept(wanted);
  }

  /** Reads the one of some texts that comes next; none of them is what another begins with. */
  *acceptOneOf(wanted: readonly string[]): Reading<string | undefined> {
    for (const text of wanted) if (yield* this.accept(text)) return text;
  }

  /** Reads white space. */
  *space(): Reading<void> {
    yield* this.run((character) => /\s/.test(character) ? "more" : "behind", () => {});
  }

  /**
   * Reads up to and with a text, and gives what stands before it in pieces; false where the end comes before it,
   * perhaps in the middle of it.
   */
  *upTo(end: string, take: (text: string) => void): Reading<boolean> {
    for (;;) {
      const found = this.buffer.indexOf(end, this.at);
      if (found >= 0) {
        take(this.buffer.slice(this.at, found));
        this.at = found + end.length;
        return true;
      }
      const rest = this.buffer.slice(this.at);
      const certain = rest.length - overlap(rest, end);
      take(rest.slice(0, certain));
      this.at += certain;
      if (this.ended) {
        this.missed = true;
        return false;
      }
      yield;
    }
  }

  /** Reads characters as long as they are wanted; false where the end comes before the last one. */
  *run(step: (character: string) => Step, take: (text: string) => void): Reading<boolean> {
    for (;;) {
      const from = this.at;
      for (const character of this.buffer.slice(from)) {
        const what = step(character);
        if (what !== "behind") this.at += character.length;
        if (what === "more") continue;
        take(this.buffer.slice(from, this.at));
        return true;
      }
      take(this.buffer.slice(from, this.at));
      if (this.ended) {
        this.missed = true;
        return false;
      }
      yield;
    }
  }

  /** Reads the characters that a pattern matches, up to that many. */
  *word(pattern: RegExp, most = 256): Reading<string> {
    let word = "";
    yield* this.run(
      (character) =>
        pattern.test(character) && word.length < most ? (word += character, "more") : "behind",
      () => {},
    );
    return word;
  }
}
