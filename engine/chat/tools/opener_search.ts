import type { Tokenizer } from "../../tokenizer/mod.ts";
import { overlap } from "../reasoning.ts";
import { ControlTexts } from "./control_texts.ts";

/** Lone surrogates, which no decoded text has, stand for control tokens: the first for any, others for parts of openers. */
const ANY_CONTROL = 0xdc00;

/** What is certain of content. */
export interface Searched {
  /** Content before any call; white space right before a call is left out. */
  readonly text: string;
  /** Where a call begins: the opener, and what came behind it. Nothing may be pushed after that. */
  readonly opened?: string;
}

/** Looks for what calls begin with in content that comes in pieces. */
export class OpenerSearch {
  private held = "";
  private readonly openers: readonly { readonly coded: string; readonly text: string }[];
  /** The control tokens that openers are made of, by the characters that stand for them. */
  private readonly marks = new Map<number, string>();

  constructor(openers: readonly string[], tokenizer: Tokenizer) {
    const controls = new ControlTexts(tokenizer);
    this.openers = openers.map((text) => ({
      text,
      coded: controls.split(text).map((piece) =>
        typeof piece === "string" ? piece : this.marks.getOrInsertComputed(
          piece,
          () => String.fromCharCode(ANY_CONTROL + 1 + this.marks.size),
        )
      ).join(""),
    }));
  }

  /** Whether an opener has a control token in it. */
  isPart(token: number): boolean {
    return this.marks.has(token);
  }

  /** What stands for a control token in what is pushed. */
  mark(token: number): string {
    return this.marks.get(token) ?? String.fromCharCode(ANY_CONTROL);
  }

  push(text: string): Searched {
    if (text === "") return { text };
    this.held += text;
    let first: { at: number; coded: string; text: string } | undefined;
    for (const { coded, text } of this.openers) {
      const at = this.held.indexOf(coded);
      if (at >= 0 && (first === undefined || at < first.at)) first = { at, coded, text };
    }
    if (first !== undefined) {
      const rest = this.held.slice(first.at + first.coded.length);
      const before = shown(this.held.slice(0, first.at)).trimEnd();
      this.held = "";
      return { text: before, opened: first.text + shown(rest) };
    }
    // White space waits as well: right before a call it is no content.
    const open = Math.max(...this.openers.map(({ coded }) => overlap(this.held, coded)));
    const certain = this.held.slice(0, this.held.length - open).trimEnd();
    this.held = this.held.slice(certain.length);
    return { text: shown(certain) };
  }

  /** What is held back, when no more comes. */
  flush(): string {
    const text = shown(this.held);
    this.held = "";
    return text;
  }
}

/** A text without what stands for control tokens. */
function shown(text: string): string {
  return /[\udc00-\udfff]/.test(text) ? text.replace(/[\ud800-\udfff]/gu, "") : text;
}
