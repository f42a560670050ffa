import type { Tokenizer } from "../../tokenizer/mod.ts";

/** Finds a vocabulary's control tokens by their texts. */
export class ControlTexts {
  constructor(private readonly tokenizer: Tokenizer) {}

  /** The text in pieces: control tokens by their ids, and what is between them. */
  split(text: string): (string | number)[] {
    const pieces: (string | number)[] = [];
    let plain = 0;
    for (let at = 0; at < text.length;) {
      const found = this.at(text, at);
      if (found === undefined) {
        at++;
        continue;
      }
      if (at > plain) pieces.push(text.slice(plain, at));
      pieces.push(found.token);
      at += found.length;
      plain = at;
    }
    if (plain < text.length) pieces.push(text.slice(plain));
    return pieces;
  }

  /** The longest control token that stands at a place. */
  private at(text: string, at: number): { token: number; length: number } | undefined {
    for (let length = text.length - at; length > 0; length--) {
      const token = this.tokenizer.tokenId(text.slice(at, at + length));
      if (token !== undefined && this.tokenizer.isControl(token)) return { token, length };
    }
  }
}
