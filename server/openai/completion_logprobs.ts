import type {
  DecodeOptions,
  GeneratedToken,
  StreamingDecoder,
  Tokenizer,
} from "../../engine/mod.ts";
import { tokenName, wholeText } from "../answer/mod.ts";
import type { CompletionLogprobs } from "./completion_schemas.ts";

/** Where the tokens of a {@link CompletionLogprobsWriter} stand in the choice's text. */
export interface TokenPlace {
  /** Characters (code points) before them; default 0. */
  readonly offset?: number;
  /** How they become text; default: as what goes on from other text does. */
  readonly decoder?: DecodeOptions;
  /** How many at the start have no part in the text; default 0. */
  readonly added?: number;
}

/** Collects log-probabilities of one choice, token by token. */
export class CompletionLogprobsWriter {
  private readonly decoder: StreamingDecoder;
  /** Characters (code points) of the text that is complete. */
  private offset: number;
  private added: number;

  /** @param tokenizer The tokenizer of the tokens. */
  constructor(private readonly tokenizer: Tokenizer, place: TokenPlace = {}) {
    this.decoder = tokenizer.decoder(place.decoder ?? { continuing: true });
    this.offset = place.offset ?? 0;
    this.added = place.added ?? 0;
  }

  /** The log-probabilities of the next tokens; null for one that has none. */
  write(tokens: readonly GeneratedToken[]): CompletionLogprobs {
    const out: CompletionLogprobs = {
      tokens: [],
      token_logprobs: [],
      top_logprobs: [],
      text_offset: [],
    };
    for (const { token, logprob, top = [] } of tokens) {
      const { name } = tokenName(this.tokenizer, token);
      // Without a prototype: "__proto__" is a name like any other.
      const likeliest: Record<string, number> = Object.create(null);
      for (const one of top) likeliest[tokenName(this.tokenizer, one.token).name] = one.logprob;
      if (logprob !== undefined) likeliest[name] = logprob;
      out.tokens.push(name);
      out.token_logprobs.push(logprob ?? null);
      out.top_logprobs.push(logprob === undefined ? null : likeliest);
      out.text_offset.push(this.begin(token));
    }
    return out;
  }

  /** Where the next token begins. */
  private begin(token: number): number {
    const before = this.offset;
    // A model may have more logits than its vocabulary has tokens.
    if (token >= this.tokenizer.vocabSize || this.added-- > 0) return before;
    this.offset += characters(this.decoder.push(token));
    const text = wholeText(this.tokenizer.tokenBytes(token));
    if (text === undefined || text === "") return before;
    // Bytes that were held back and turned out to be no character come before a whole token. The space that
    // encoding puts before a text is part of a token and not of the text.
    return Math.max(before, this.offset - characters(text));
  }
}

/** Adds the log-probabilities of more tokens: any number of them, so not as arguments of a call. */
export function append(logprobs: CompletionLogprobs, more: CompletionLogprobs): void {
  for (let i = 0; i < more.tokens.length; i++) {
    logprobs.tokens.push(more.tokens[i]);
    logprobs.token_logprobs.push(more.token_logprobs[i]);
    logprobs.top_logprobs.push(more.top_logprobs[i]);
    logprobs.text_offset.push(more.text_offset[i]);
  }
}

/** The number of characters (code points). */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
