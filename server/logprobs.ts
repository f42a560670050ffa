import type { GeneratedToken, StreamingDecoder, Tokenizer } from "../engine/mod.ts";

/** The log-probabilities of a completion, in the shape of OpenAI's legacy completions. */
export interface CompletionLogprobs {
  tokens: string[];
  token_logprobs: number[];
  /** For each token the likeliest ones, and the token itself. */
  top_logprobs: Record<string, number>[];
  /**
   * Where each token begins in the choice's text, in characters (code points); for a part of a
   * character, where the character begins.
   */
  text_offset: number[];
}

/** Collects log-probabilities of one choice, token by token. */
export class LogprobsWriter {
  private readonly decoder: StreamingDecoder;
  /** Characters (code points) of the text that is complete. */
  private offset = 0;

  /** @param tokenizer Whose tokens they are. */
  constructor(private readonly tokenizer: Tokenizer) {
    this.decoder = tokenizer.decoder({ continuing: true });
  }

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
      out.text_offset.push(this.begin(token));
    }
    return out;
  }

  /** Where the next token begins. */
  private begin(token: number): number {
    const before = this.offset;
    // A model may have more logits than its vocabulary has tokens.
    if (token >= this.tokenizer.vocabSize) return before;
    this.offset += characters(this.decoder.push(token));
    const text = wholeText(this.tokenizer.tokenBytes(token));
    // Bytes that were held back and turned out to be no character come before a whole token.
    return text === undefined ? before : this.offset - characters(text);
  }

  /** The token's text; `bytes:\xe2\x82` for a part of a character, as OpenAI writes it. */
  private name(token: number): string {
    if (token >= this.tokenizer.vocabSize) return "";
    if (this.tokenizer.isControl(token)) return this.tokenizer.tokenText(token);
    const bytes = this.tokenizer.tokenBytes(token);
    const hex = () => Array.from(bytes, (byte) => "\\x" + byte.toString(16).padStart(2, "0"));
    return wholeText(bytes) ?? "bytes:" + hex().join("");
  }
}

/** Bytes as text; undefined where they are not whole characters. */
function wholeText(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The number of characters (code points). */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
