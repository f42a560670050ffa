import type { Tokenizer } from "./tokenizer.ts";

/** What each token stands for by itself, in the middle of a text. Kept, since the same ones come often. */
export class TokenTexts {
  private readonly texts: (string | undefined)[] = [];

  constructor(private readonly tokenizer: Tokenizer) {}

  /** U+FFFD where a token is part of a character; "" of what a model has logits for beyond its vocabulary. */
  of(token: number): string {
    if (token >= this.tokenizer.vocabSize) return "";
    return this.texts[token] ??= this.tokenizer.decode([token], { continuing: true });
  }
}
