import { MAX_TOKEN_BIASES } from "../device/mod.ts";
import type { SamplingParameters } from "./parameters.ts";
import { SequenceBreakers } from "./sequence_breakers.ts";

/** No penalty is larger, so that sums with other biases stay finite in single precision. */
const MAX_PENALTY = 1e30;

/** The part of the parameters that concerns repetitions. */
export type DryParameters = Pick<
  SamplingParameters,
  "dryMultiplier" | "dryBase" | "dryAllowedLength" | "dryPenaltyLastN" | "drySequenceBreakers"
>;

/**
 * "Don't repeat yourself" (DRY, by P. E. Weidmann, 2024): a token that would extend a repetition of n tokens loses
 * `multiplier * base ^ (n - allowedLength)` of its logit, if n is `allowedLength` or more. Of several repetitions,
 * the longest counts. None reaches beyond the first of the last `penaltyLastN` tokens, nor beyond a token in which a
 * sequence breaker ends.
 *
 * With each token, the repetitions that end with it follow from those that ended with the one before it, at the
 * token's earlier positions. That takes time proportional to these, at most to the window.
 */
export class DryPenalties {
  private readonly window: number;
  /** The last position of each token, and for each position the one before with the same token; -1: none. */
  private readonly last = new Map<number, number>();
  private previous: Int32Array;
  private repetitions: Repetitions;
  /** Memory of the next ones. */
  private spare = new Repetitions();
  /** Tokens since the last in which a breaker ended. */
  private unbroken = 0;
  private readonly breakers: SequenceBreakers;

  /**
   * @param tokens The sequence's tokens so far, at least one, to which its owner adds.
   * @param tokenBytes The text of a token, in UTF-8.
   */
  constructor(
    private readonly tokens: readonly number[],
    private readonly parameters: DryParameters,
    tokenBytes: (token: number) => Uint8Array,
  ) {
    const { dryPenaltyLastN, drySequenceBreakers } = parameters;
    this.window = dryPenaltyLastN < 0 ? Infinity : dryPenaltyLastN;
    this.breakers = new SequenceBreakers(drySequenceBreakers, tokenBytes);
    const start = Math.max(0, tokens.length - this.window);
    this.previous = new Int32Array(2 * tokens.length);
    for (let place = start; place < tokens.length; place++) this.note(place);
    this.repetitions = findRepetitions(tokens, start);
    const end = tokens.length - 1;
    while (end - this.unbroken >= start && !this.breakers.endAt(tokens, end - this.unbroken)) {
      this.unbroken++;
    }
  }

  /** Takes in the sequence's last token. */
  advance(): void {
    const place = this.tokens.length - 1;
    const next = this.spare;
    this.goOn(this.repetitions, this.tokens, place, next);
    this.spare = this.repetitions;
    this.repetitions = next;
    this.note(place);
    this.unbroken = this.breakers.endAt(this.tokens, place) ? 0 : this.unbroken + 1;
  }

  /**
   * What tokens lose now, or where the sequence went on with drafts: at most {@link MAX_TOKEN_BIASES} of
   * them, those that would go on the longest repetitions.
   *
   * @param tokens The sequence's tokens, and the drafts.
   */
  penalties(tokens: readonly number[] = this.tokens): Map<number, number> {
    let { repetitions, unbroken } = this;
    for (let place = this.tokens.length; place < tokens.length; place++) {
      const next = new Repetitions();
      this.goOn(repetitions, tokens, place, next);
      repetitions = next;
      unbroken = this.breakers.endAt(tokens, place) ? 0 : unbroken + 1;
    }
    const { dryMultiplier, dryBase, dryAllowedLength } = this.parameters;
    let longest = this.longest(repetitions, tokens, unbroken);
    if (longest.length > MAX_TOKEN_BIASES) {
      longest = longest.sort(([a, m], [b, n]) => n - m || a - b).slice(0, MAX_TOKEN_BIASES);
    }
    return new Map(longest.map(([token, length]) => {
      const penalty = dryMultiplier * dryBase ** (length - dryAllowedLength);
      return [token, Math.min(penalty, MAX_PENALTY)];
    }));
  }

  /** Notes the position of a token. */
  private note(place: number): void {
    if (place >= this.previous.length) this.previous = longer(this.previous, 2 * place);
    const token = this.tokens[place];
    this.previous[place] = this.last.get(token) ?? -1;
    this.last.set(token, place);
  }

  /** The repetitions that end at a position, from those that end at the one before. */
  private goOn(
    before: Repetitions,
    tokens: readonly number[],
    place: number,
    next: Repetitions,
  ): void {
    const token = tokens[place];
    const start = Math.max(0, place + 1 - this.window);
    next.count = 0;
    let at = 0;
    // Where drafts stand is not noted.
    let draft = place;
    let noted = this.last.get(token) ?? -1;
    while (true) {
      do draft--; while (draft >= this.tokens.length && tokens[draft] !== token);
      const earlier = draft >= this.tokens.length ? draft : noted;
      if (earlier < start) break;
      if (earlier === noted) noted = this.previous[noted];
      while (at < before.count && before.places[at] >= earlier) at++;
      const goesOn = at < before.count && before.places[at] === earlier - 1;
      next.push(earlier, goesOn ? before.lengths[at] + 1 : 1);
    }
  }

  /** The tokens that would go on a repetition that costs something, and the length of the longest. */
  private longest(
    { places, lengths, count }: Repetitions,
    tokens: readonly number[],
    unbroken: number,
  ): [token: number, length: number][] {
    const { dryAllowedLength } = this.parameters;
    if (unbroken < dryAllowedLength) return [];
    const start = Math.max(0, tokens.length - this.window);
    const found: number[] = [];
    for (let i = 0; i < count; i++) {
      const length = Math.min(lengths[i], unbroken, places[i] - start + 1);
      if (length < dryAllowedLength) continue;
      const next = tokens[places[i] + 1];
      const known = lengthOf(next);
      if (known === 0) found.push(next);
      if (length > known) longestByToken[next] = length;
    }
    return found.map((token) => {
      const length = longestByToken[token];
      longestByToken[token] = 0;
      return [token, length];
    });
  }
}

/** Memory of {@link DryPenalties}, all 0 between two calls: it is faster than a map. */
let longestByToken = new Int32Array(1024);

function lengthOf(token: number): number {
  if (token >= longestByToken.length) longestByToken = longer(longestByToken, 2 * token);
  return longestByToken[token];
}

function longer(numbers: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(numbers);
  return copy;
}

/**
 * Repetitions that end where a sequence ends: the falling positions whose preceding tokens are those at the end, and
 * how many. The token after such a position would extend the repetition.
 */
class Repetitions {
  places = new Int32Array(16);
  lengths = new Int32Array(16);
  count = 0;

  push(place: number, length: number): void {
    if (this.count === this.places.length) {
      this.places = longer(this.places, 2 * this.count);
      this.lengths = longer(this.lengths, 2 * this.count);
    }
    this.places[this.count] = place;
    this.lengths[this.count++] = length;
  }
}

/**
 * The repetitions that end where the tokens end, among those from `start` on: the Z-algorithm (Gusfield 1997,
 * section 1.4) from the end backwards, in linear time.
 */
function findRepetitions(tokens: readonly number[], start: number): Repetitions {
  const n = tokens.length - start;
  const end = tokens.length - 1;
  /** Of each distance from the end how many tokens, from there backwards, are those at the end. */
  const lengths = new Int32Array(n);
  const found = new Repetitions();
  let [left, right] = [0, 0];
  for (let i = 1; i < n; i++) {
    let length = i < right ? Math.min(right - i, lengths[i - left]) : 0;
    while (i + length < n && tokens[end - length] === tokens[end - i - length]) length++;
    if (i + length > right) [left, right] = [i, i + length];
    lengths[i] = length;
    if (length > 0) found.push(end - i, length);
  }
  return found;
}
