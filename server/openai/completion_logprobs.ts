import type { GeneratedToken, StreamingDecoder, Tokenizer } from "../../engine/mod.ts";
import { tokenName, wholeText } from "../token_names.ts";
import type { CompletionLogprobs } from "./completion_schemas.ts";

/** Collects log-probabilities of one choice, token by token. */
export class CompletionLogprobsWriter {
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
      const { name } = tokenName(this.tokenizer, token);
      // Without a prototype: "__proto__" is a name like any other.
      const likeliest: Record<string, number> = Object.create(null);
      for (const one of top) likeliest[tokenName(this.tokenizer, one.token).name] = one.logprob;
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
}

/** Adds the log-probabilities of more tokens. */
export function append(logprobs: CompletionLogprobs, more: CompletionLogprobs): void {
  logprobs.tokens.push(...more.tokens);
  logprobs.token_logprobs.push(...more.token_logprobs);
  logprobs.top_logprobs.push(...more.top_logprobs);
  logprobs.text_offset.push(...more.text_offset);
}

/** The number of characters (code points). */
function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
