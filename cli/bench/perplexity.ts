import type { Engine } from "../../engine/mod.ts";

/** How well a model expects a text. */
export interface Perplexity {
  /** e to the mean negative log-likelihood of a token. */
  readonly perplexity: number;
  /** Its standard error. */
  readonly standardError: number;
  /** Tokens whose likelihood counts, of all tokens of the text. */
  readonly scoredTokens: number;
  readonly tokens: number;
  readonly chunks: number;
  readonly chunkTokens: number;
}

/**
 * The perplexity of a text, in chunks that do not know of each other. The second half of each chunk is scored, so that
 * every scored token has at least half a chunk before it. The rest at the end of the text is not scored. A text of less
 * than a chunk is one chunk, scored from its second token on.
 *
 * This is how llama.cpp's `llama-perplexity` cuts and scores, so the numbers can be compared.
 *
 * @param tokens The text without BOS; where the model wants one, it replaces each chunk's first token.
 * @param chunkTokens Tokens of a chunk, at most the engine's context.
 * @param maxChunks Chunks that are looked at, from the start of the text.
 * @param onChunk Called after each chunk: chunks done, chunks in all, the perplexity so far.
 */
export async function measurePerplexity(
  engine: Engine,
  tokens: readonly number[],
  chunkTokens: number,
  maxChunks: number,
  onChunk: (done: number, total: number, perplexity: number) => void,
): Promise<Perplexity> {
  const { addBos, bos } = engine.tokenizer;
  const begin = addBos && bos !== undefined ? bos : undefined;
  const whole = tokens.length >= chunkTokens;
  const chunks = whole ? Math.min(Math.floor(tokens.length / chunkTokens), maxChunks) : 1;
  const moments = new Moments();
  for (let chunk = 0; chunk < chunks; chunk++) {
    const part = tokens.slice(chunk * chunkTokens, (chunk + 1) * chunkTokens);
    if (begin !== undefined) {
      if (whole) part[0] = begin;
      else part.unshift(begin);
    }
    const first = whole ? part.length >> 1 : 0;
    for await (const { position, logits } of engine.evaluate(part)) {
      if (position < first || position + 1 >= part.length) continue;
      moments.add(negativeLogLikelihood(logits, part[position + 1]));
    }
    onChunk(chunk + 1, chunks, Math.exp(moments.mean));
  }
  const perplexity = Math.exp(moments.mean);
  return {
    perplexity,
    // The error of the mean, carried through the exponential.
    standardError: perplexity * moments.standardError,
    scoredTokens: moments.count,
    tokens: tokens.length,
    chunks,
    chunkTokens: whole ? chunkTokens : tokens.length,
  };
}

/** -ln of the probability that the logits give a token. */
export function negativeLogLikelihood(logits: Float32Array, token: number): number {
  let max = -Infinity;
  for (const logit of logits) if (logit > max) max = logit;
  let sum = 0;
  for (const logit of logits) sum += Math.exp(logit - max);
  return Math.log(sum) + max - logits[token];
}

/** Mean and variance in one pass (Welford 1962), exact where many values are close to each other. */
class Moments {
  count = 0;
  mean = 0;
  #squares = 0;

  add(value: number): void {
    this.count++;
    const before = value - this.mean;
    this.mean += before / this.count;
    this.#squares += before * (value - this.mean);
  }

  /** Of the mean; 0 for fewer than two values. */
  get standardError(): number {
    return this.count < 2 ? 0 : Math.sqrt(this.#squares / (this.count - 1) / this.count);
  }
}
