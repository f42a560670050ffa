import type { GeneratedToken, Tokenizer } from "../engine/mod.ts";

/** The log-probabilities of a completion, in the shape of OpenAI's legacy completions. */
export interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** For each token the likeliest ones, and the token itself. */
  top_logprobs: Record<string, number>[];
  /** Where each token begins in the choice's text, in characters (code points). */
  text_offset: number[];
}

/** Collects log-probabilities of one choice, token by token. */
export class LogprobsWriter {
  /**
   * @param tokenizer Whose tokens they are.
   * @param offset Characters (code points) that the choice's text has before the first token.
   */
  constructor(private readonly tokenizer: Tokenizer, private offset = 0) {}

  /** The log-probabilities of the next tokens. */
  write(tokens: readonly GeneratedToken[]): CompletionLogprobs {
    const out: CompletionLogprobs = {
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    };
    for (const { token, logprob = 0, top = [] } of tokens) {
      const name = this.name(token);
      // Without a prototype: "__proto__" is a name like any other.
      const likeliest: Record<string, number> = Object.create(null);
      for (const one of top) likeliest[this.name(one.token)] = one.logprob;
      likeliest[name] = logprob;
      out.tokens.push(name);
      out.token_logprobs.push(logprob);
      out.top_logprobs.push(likeliest);
      out.text_offset.push(this.offset);
      if (token >= this.tokenizer.vocabSize) continue;
      // Tokens may be parts of characters, so characters are counted by their first bytes.
      for (const byte of this.tokenizer.tokenBytes(token)) {
        if ((byte & 0xc0) !== 0x80) this.offset++;
      }
    }
    return out;
  }

  /** The token's text; `bytes:\xe2\x82` for a part of a character, as OpenAI writes it. */
  private name(token: number): string {
    // A model may have more logits than its vocabulary has tokens.
    if (token >= this.tokenizer.vocabSize) return "";
    if (this.tokenizer.isControl(token)) return this.tokenizer.tokenText(token);
    const bytes = this.tokenizer.tokenBytes(token);
    try {
      return UTF8.decode(bytes);
    } catch {
      const hex = Array.from(bytes, (byte) => "\\x" + byte.toString(16).padStart(2, "0"));
      return "bytes:" + hex.join("");
    }
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
