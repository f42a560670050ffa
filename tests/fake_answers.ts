/**
 * What a {@link FakeDevice} answers: it follows from a hash of all tokens before, so that it can be told without it.
 *
 * @module
 */

/** The token that ends an answer. */
export const END = 0;
/** Tokens of the vocabulary. */
export const VOCABULARY = 11;

/** The hash of some tokens and another one behind them. */
export function mix(hash: number, token: number): number {
  let h = Math.imul(hash ^ token, 0x9e3779b1);
  h ^= h >>> 15;
  h = Math.imul(h, 0x85ebca6b);
  return (h ^ (h >>> 13)) >>> 0;
}

/** What is drawn after tokens of a hash; an answer ends after one token in so many. */
export function drawnAfter(hash: number, endOdds: number): number {
  return hash % endOdds === 0 ? END : 1 + (hash >>> 8) % (VOCABULARY - 1);
}

/** What a sequence draws when it is served alone. */
export function alone(prompt: readonly number[], maxTokens: number, endOdds: number): number[] {
  let hash = prompt.reduce(mix, 1);
  const drawn: number[] = [];
  while (drawn.length < maxTokens) {
    const token = drawnAfter(hash, endOdds);
    drawn.push(token);
    if (token === END) break;
    hash = mix(hash, token);
  }
  return drawn;
}

/** The hidden states of a prompt's tokens: the hash of each and all before it, in two halves. */
export function hiddenAlone(prompt: readonly number[]): Float32Array[] {
  let hash = 1;
  return prompt.map((token) => hiddenOf(hash = mix(hash, token)));
}

/** The hidden states after tokens of a hash. */
export function hiddenOf(hash: number): Float32Array {
  return Float32Array.of(hash >>> 16, hash & 0xFFFF);
}
