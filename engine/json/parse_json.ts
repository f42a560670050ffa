/**
 * JSON without loss. `JSON.parse` is fast, but rounds numbers to doubles and puts keys that are integers before
 * others. Parsers that keep numbers (`lossless-json`) have plain objects, refuse duplicate keys, and take ten times as
 * long. Those that make a syntax tree keep all of it and take twenty times as long. None survives deep nesting. So
 * `JSON.parse` reads every short text that it loses nothing of, and {@link reading} the others.
 *
 * @module
 */
import { JsonNumber } from "./json_number.ts";
import { endOfString, endOfWord, isDigit, QUOTE, reading } from "./json_reading.ts";

/**
 * Arrays and objects inside each other; Python's reader takes about as many. What goes a call a level is safe with
 * them.
 */
export const MOST_LEVELS = 1000;

/** What a text may have at most, so that reading it takes no longer than a few hundredths of a second. */
export interface JsonLimits {
  /** Values in arrays and objects. */
  readonly values: number;
  /** Members of objects, of all of them together. */
  readonly members: number;
  /** Values, where something is in the text that `JSON.parse` would lose. */
  readonly exactValues: number;
  /** Of that: numbers, and members whose keys are integers. */
  readonly lost: number;
}

/** Which members of the outermost object bear a loss: no reader sees the difference. */
export interface BearableLoss {
  /** Whether doubles do for the numbers in a member, whole ones beyond 2^53 left out. */
  readonly ofNumbers: (member: string) => boolean;
  /** Whether the keys in a member may stand in any order. */
  readonly ofOrder: (member: string) => boolean;
}

/** A value, and whether `JSON.parse` gives the same one of its text. */
export interface ParsedJson {
  readonly value: unknown;
  readonly isPlain: boolean;
}

/** A text that has more than it may. */
export class JsonTooMuch extends Error {
  override readonly name = "JsonTooMuch";
}

/**
 * The value of a JSON text. Numbers are JavaScript's where these keep them, else of {@link JsonNumber}; members of
 * objects stand in the text's order. Takes time in proportion to the text.
 *
 * @throws {SyntaxError} for what is no JSON, or nested more than {@link MOST_LEVELS} deep.
 */
export function parseJson(text: string): unknown {
  return parseWhole(text).value;
}

/**
 * The same, and whether `JSON.parse` gives the same value: then no {@link JsonNumber} is in it.
 *
 * @param limits What the text may have; absent: as much as it has.
 * @param bearable Where the value may be that of `JSON.parse` although it loses something; absent: nowhere.
 * @throws {SyntaxError} as {@link parseJson}; {@link JsonTooMuch}, before the text is read.
 */
export function parseWhole(text: string, limits?: JsonLimits, bearable?: BearableLoss): ParsedJson {
  if (isSurelyPlain(text, limits)) return { value: JSON.parse(text), isPlain: true };
  const parts = parsing(text, Infinity, limits, bearable);
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
  }
}

/**
 * Where a text may have something that `JSON.parse` would lose: more digits than a double has, a zero with a sign, an
 * exponent, a fraction that ends with a zero or begins with many, a key that is an integer. What looks so within a string
 * counts as well.
 */
const MAY_LOSE = /\d[\d.]{15}|-0|\d[eE]|\.\d*0(?!\d)|\.0{6}|"\d+"\s*:/;

/** Characters of a text that cannot be nested too deeply, unless it has brackets for that. */
const SHORT = 4096;

/** Whether nothing of a text is lost, and no limit is met, as a short look at it says: so with most texts. */
function isSurelyPlain(text: string, { values, members }: JsonLimits = NO_LIMITS): boolean {
  if (text.length > Math.min(SHORT, values, members) || MAY_LOSE.test(text)) return false;
  let brackets = 0;
  for (let at = 0; at < text.length && brackets <= MOST_LEVELS; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) brackets++;
  }
  return brackets <= MOST_LEVELS;
}

/** Characters of a text that are read before others have their turn, where none of its strings is longer. */
const PART_LENGTH = 2 ** 17;

/**
 * The same, part by part.
 *
 * @param turn Awaited between two parts: others have their turn.
 * @param partLength About how many characters a part has.
 */
export async function parseInTurns(
  text: string,
  turn: () => Promise<void>,
  limits: JsonLimits,
  bearable?: BearableLoss,
  partLength = PART_LENGTH,
): Promise<ParsedJson> {
  const parts = parsing(text, partLength, limits, bearable);
  for (;;) {
    const { done, value } = parts.next();
    if (done) return value;
    await turn();
  }
}

/** Looks at a text and reads it, in parts of a length. */
function* parsing(
  text: string,
  length: number,
  limits: JsonLimits = NO_LIMITS,
  bearable?: BearableLoss,
): Generator<undefined, ParsedJson> {
  const look = new Look(text, limits, bearable);
  // What has more than it may is refused soon, however long it is.
  const lookLength = Math.min(length, PART_LENGTH);
  while (look.at < text.length) {
    look.goOn(look.at + lookLength);
    yield;
  }
  const isPlain = !look.loses;
  if (isPlain && text.length <= length) return { value: JSON.parse(text), isPlain };
  return { value: yield* reading(text, length, isPlain), isPlain };
}

/** Finds out whether `JSON.parse` would lose something that counts. Of a text that is no JSON the answer is any. */
class Look {
  /** The character that is looked at next. */
  at = 0;
  private levels = 0;
  private isObject = false;
  // Whether the next string is a key of the outermost object, and what counts in that key's value.
  private beginsMember = false;
  private numbersCount = true;
  private orderCounts = true;
  private lost = 0;
  private values = 0;
  private members = 0;

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
    private readonly bearable?: BearableLoss,
  ) {}

  /** Whether something has been found. */
  get loses(): boolean {
    return this.lost > 0;
  }

  /**
   * Looks at the text's characters as far as to one of them, or to the end of the string that it is in.
   *
   * @throws {JsonTooMuch} where there are more than the limits, {@link SyntaxError} for too deep nesting.
   */
  goOn(until: number): void {
    const { text, limits } = this;
    const to = Math.min(until, text.length);
    let { at } = this;
    while (at < to) {
      const code = text.charCodeAt(at);
      at = code <= 0x20 ? at + 1 : this.token(code, at);
    }
    this.at = at;
    requireWithin(limits, this.lost, this.members, this.values);
  }

  /** Looks at what begins at a character; where it ends. */
  private token(code: number, at: number): number {
    const { text } = this;
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (this.beginsMember) this.member(text.slice(at + 1, end - 1));
      if (
        (this.orderCounts || this.levels === 1) && isDigit(text.charCodeAt(at + 1)) &&
        isIndexKey(text, at, end)
      ) {
        this.lost++;
      }
      return end;
    }
    if (code === 0x5b || code === 0x7b) {
      if (this.levels === 0) this.beginsMember = this.isObject = code === 0x7b;
      if (++this.levels > MOST_LEVELS) {
        throw new SyntaxError(`arrays and objects are nested more than ${MOST_LEVELS} deep`);
      }
    } else if (code === 0x5d || code === 0x7d) {
      this.levels--;
    } else if (code === 0x2d || isDigit(code)) {
      const end = endOfWord(text, at);
      const mayLose = this.numbersCount ? !isShort(text, at, end) : end - at > SURE_DIGITS;
      if (mayLose && !JsonNumber.isPlain(text.slice(at, end))) this.lost++;
      return end;
    } else if (code === 0x2c) {
      this.values++;
      if (this.levels === 1 && this.isObject) this.beginsMember = true;
    } else if (code === 0x3a) {
      this.members++;
    }
    return at + 1;
  }

  /** A member of the outermost object begins. */
  private member(name: string): void {
    const { bearable } = this;
    this.beginsMember = false;
    // A key that is spelt with escapes is any.
    const isKnown = bearable !== undefined && !name.includes("\\");
    this.numbersCount = !isKnown || !bearable.ofNumbers(name);
    this.orderCounts = !isKnown || !bearable.ofOrder(name);
  }
}

/** Digits of an integer that a double has for sure. */
const SURE_DIGITS = 15;

const NO_LIMITS: JsonLimits = {
  values: Infinity,
  members: Infinity,
  exactValues: Infinity,
  lost: Infinity,
};

function requireWithin(limits: JsonLimits, lost: number, members: number, values: number): void {
  const isExact = lost > 0;
  const found: [number, number, string][] = [
    [lost, limits.lost, "numbers that a double has not all digits of, and keys that are integers"],
    [members, limits.members, "members of objects"],
    isExact
      ? [values, limits.exactValues, "values next to such a number or such a key"]
      : [values, limits.values, "values"],
  ];
  const wrong = found.find(([count, most]) => count > most);
  if (wrong !== undefined) throw new JsonTooMuch(`it has more than ${wrong[1]} ${wrong[2]}`);
}

/** Whether a string is a key that JavaScript may put before others: an integer of up to 10 digits. */
function isIndexKey(text: string, start: number, end: number): boolean {
  if (end - start > 12) return false;
  for (let at = start + 1; at < end - 1; at++) {
    if (!isDigit(text.charCodeAt(at))) return false;
  }
  let at = end;
  while (text.charCodeAt(at) <= 0x20) at++;
  return text[at] === ":";
}

/** Whether a number is whole and so short that a double has it for sure; most are. */
function isShort(text: string, start: number, end: number): boolean {
  // -0 is a number of its own, and what begins with a sign is rare.
  if (end - start > SURE_DIGITS || !isDigit(text.charCodeAt(start))) return false;
  for (let at = start + 1; at < end; at++) {
    if (!isDigit(text.charCodeAt(at))) return false;
  }
  return true;
}
