import { MAX_TOKEN_BIASES } from "../device/step_block.ts";
import type { SamplingParameters } from "./parameters.ts";

/** No penalty is larger, so that sums with other biases stay finite in single precision. */
const MAX_PENALTY = 1e30;

/** The part of the parameters that concerns repetitions. */
export type DryParameters = Pick<
  SamplingParameters,
  "dryMultiplier" | "dryBase" | "dryAllowedLength" | "dryPenaltyLastN" | "drySequenceBreakers"
>;

/**
 * Repetitions that end where a sequence ends: the places, rising, whose tokens up to there are those at the end,
 * and how many of them. What stands behind such a place would go on the repetition.
 */
interface Repetitions {
  readonly places: Int32Array;
  readonly lengths: Int32Array;
  readonly count: number;
}

/**
 * "Don't repeat yourself" (DRY, by P. E. Weidmann, 2024): a token that would make a repetition of n tokens that are
 * there already one of n + 1 loses `multiplier * base ^ (n - allowedLength)` of its logit, if n is `allowedLength`
 * or more; of several repetitions that it would go on the longest counts. None reaches beyond the first of the
 * last `penaltyLastN` tokens, nor beyond a token in which a sequence breaker ends.
 *
 * With each token the repetitions that end with it are found from those that ended with the one before it, at
 * the places where it stands already: in time proportional to these, at most to the window.
 */
export class DryPenalties {
  private readonly window: number;
  /** Where each token stands, rising. */
  private readonly places = new Map<number, Places>();
  private repetitions: Repetitions;
  /** Tokens since the last in which a breaker ended. */
  private unbroken: number;
  private readonly breakers: Breakers;

  /**
   * @param tokens The sequence's tokens so far, at least one, to which its owner adds.
   * @param tokenBytes What a token stands for, in UTF-8.
   */
  constructor(
    private readonly tokens: readonly number[],
    private readonly parameters: DryParameters,
    tokenBytes: (token: number) => Uint8Array,
  ) {
    const { dryPenaltyLastN, drySequenceBreakers } = parameters;
    this.window = dryPenaltyLastN < 0 ? Infinity : dryPenaltyLastN;
    this.breakers = new Breakers(drySequenceBreakers, tokenBytes);
    const start = Math.max(0, tokens.length - this.window);
    for (let i = start; i < tokens.length; i++) this.placesOf(tokens[i]).push(i);
    this.repetitions = findRepetitions(tokens, start);
    this.unbroken = 0;
    while (
      this.unbroken < tokens.length - start &&
      !this.breakers.endAt(tokens, tokens.length - 1 - this.unbroken)
    ) this.unbroken++;
  }

  /** Takes in the sequence's last token. */
  advance(): void {
    const last = this.tokens.length - 1;
    const token = this.tokens[last];
    this.repetitions = this.goOn(this.repetitions, token, last);
    this.placesOf(token).push(last);
    this.unbroken = this.breakers.endAt(this.tokens, last) ? 0 : this.unbroken + 1;
  }

  /**
   * What tokens lose now, or where the sequence went on with these guesses: at most {@link MAX_TOKEN_BIASES} of
   * them, those that would go on the longest repetitions.
   *
   * @param tokens The sequence's tokens, and the guesses.
   */
  penalties(tokens: readonly number[] = this.tokens): Map<number, number> {
    let { repetitions, unbroken } = this;
    for (let last = this.tokens.length; last < tokens.length; last++) {
      repetitions = this.goOn(repetitions, tokens[last], last, tokens);
      unbroken = this.breakers.endAt(tokens, last) ? 0 : unbroken + 1;
    }
    return this.cost(this.longest(repetitions, unbroken, tokens));
  }

  /** The repetitions that end with a token, out of those that ended with the one before it. */
  private goOn(
    before: Repetitions,
    token: number,
    last: number,
    guessed: readonly number[] = this.tokens,
  ): Repetitions {
    const start = Math.max(0, last + 1 - this.window);
    const known = this.places.get(token)?.values ?? NOWHERE;
    const first = firstFrom(known, start);
    // Guesses are not among the known places.
    const others: number[] = [];
    for (let i = this.tokens.length; i < last; i++) if (guessed[i] === token) others.push(i);
    const places = new Int32Array(known.length - first + others.length);
    places.set(known.subarray(first));
    places.set(others, known.length - first);
    const lengths = new Int32Array(places.length);
    let at = 0;
    for (let i = 0; i < places.length; i++) {
      while (at < before.count && before.places[at] < places[i] - 1) at++;
      const goesOn = at < before.count && before.places[at] === places[i] - 1;
      lengths[i] = goesOn ? before.lengths[at] + 1 : 1;
    }
    return { places, lengths, count: places.length };
  }

  /** The longest repetition that each token would go on, of those that cost something. */
  private longest(
    { places, lengths, count }: Repetitions,
    unbroken: number,
    tokens: readonly number[],
  ): Map<number, number> {
    const longest = new Map<number, number>();
    const { dryAllowedLength } = this.parameters;
    if (unbroken < dryAllowedLength) return longest;
    const start = Math.max(0, tokens.length - this.window);
    for (let i = 0; i < count; i++) {
      const length = Math.min(lengths[i], unbroken, places[i] - start + 1);
      if (length < dryAllowedLength) continue;
      const next = tokens[places[i] + 1];
      if (length > (longest.get(next) ?? 0)) longest.set(next, length);
    }
    return longest;
  }

  private cost(longest: Map<number, number>): Map<number, number> {
    const { dryMultiplier, dryBase, dryAllowedLength } = this.parameters;
    let entries = [...longest];
    if (entries.length > MAX_TOKEN_BIASES) {
      entries = entries.sort(([a, m], [b, n]) => n - m || a - b).slice(0, MAX_TOKEN_BIASES);
    }
    return new Map(entries.map(([token, length]) => {
      const penalty = dryMultiplier * dryBase ** (length - dryAllowedLength);
      return [token, Math.min(penalty, MAX_PENALTY)];
    }));
  }

  private placesOf(token: number): Places {
    let places = this.places.get(token);
    if (places === undefined) this.places.set(token, places = new Places());
    return places;
  }
}

const NOWHERE = new Int32Array(0);

/** Rising numbers, to which larger ones are added. */
class Places {
  private numbers = new Int32Array(4);
  private count = 0;

  get values(): Int32Array {
    return this.numbers.subarray(0, this.count);
  }

  push(place: number): void {
    if (this.count === this.numbers.length) {
      const longer = new Int32Array(2 * this.count);
      longer.set(this.numbers);
      this.numbers = longer;
    }
    this.numbers[this.count++] = place;
  }
}

/** The index of the first of rising numbers that is `least` or more. */
function firstFrom(rising: Int32Array, least: number): number {
  let [low, high] = [0, rising.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
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
  let [left, right] = [0, 0];
  let count = 0;
  for (let i = 1; i < n; i++) {
    let length = i < right ? Math.min(right - i, lengths[i - left]) : 0;
    while (i + length < n && tokens[end - length] === tokens[end - i - length]) length++;
    if (i + length > right) [left, right] = [i, i + length];
    lengths[i] = length;
    if (length > 0) count++;
  }
  const found = { places: new Int32Array(count), lengths: new Int32Array(count), count };
  for (let i = n - 1, at = 0; i > 0; i--) {
    if (lengths[i] === 0) continue;
    found.places[at] = end - i;
    found.lengths[at++] = lengths[i];
  }
  return found;
}

/** The texts at which repetitions end. They may be spread over several tokens. */
class Breakers {
  /** As characters of a byte each. */
  private readonly texts: readonly string[];
  /** Bytes of the longest. */
  private readonly longest: number;

  constructor(
    breakers: readonly string[],
    private readonly tokenBytes: (token: number) => Uint8Array,
  ) {
    this.texts = breakers.map((text) => characters(new TextEncoder().encode(text)));
    this.longest = Math.max(0, ...this.texts.map(({ length }) => length));
  }

  /** Whether one of them ends in the token at an index. */
  endAt(tokens: readonly number[], index: number): boolean {
    if (this.longest === 0) return false;
    const own = characters(this.tokenBytes(tokens[index]));
    if (own.length === 0) return false;
    let before = "";
    for (let i = index - 1; i >= 0 && before.length < this.longest - 1; i--) {
      before = characters(this.tokenBytes(tokens[i])) + before;
      // Tokens without text are no reason to look through all of them.
      if (index - i > this.longest) break;
    }
    const text = before + own;
    return this.texts.some((one) => {
      const from = Math.max(0, before.length - one.length + 1);
      return text.indexOf(one, from) >= 0;
    });
  }
}

function characters(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
