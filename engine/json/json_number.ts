/**
 * A number of JSON that JavaScript's numbers cannot distinguish from others: 1234567890123456789, 1.0, -0, 1e400. Its
 * text is kept, and `JSON.stringify` writes it as it came.
 */
export class JsonNumber {
  // Private: it has no enumerable members.
  readonly #text: string;

  /** @param text A number as JSON spells it. */
  constructor(text: string) {
    this.#text = text;
  }

  /** Whether a number that is written so is one that JavaScript writes in the same way, with all its digits. */
  static isPlain(text: string): boolean {
    const value = Number(text);
    // 1e+21 is written so by JavaScript as well, but of its digits a double does not have all.
    return (Number.isSafeInteger(value) || !Number.isInteger(value)) && String(value) === text;
  }

  /** The value of a number's text: a number of JavaScript where that keeps it, else one of this class. */
  static of(text: string): number | JsonNumber {
    return JsonNumber.isPlain(text) ? Number(text) : new JsonNumber(text);
  }

  /** Whether it is written without a fraction and an exponent, as Python distinguishes integers from floats. */
  get isInteger(): boolean {
    return /^-?\d+$/.test(this.#text);
  }

  /** The number that a double holds in its place: infinite where it is too large. */
  get value(): number {
    return Number(this.#text);
  }

  toString(): string {
    return this.#text;
  }

  /** What `JSON.stringify` writes. */
  toJSON(): unknown {
    return rawJson(this.#text);
  }
}

/** JSON that `JSON.stringify` writes as it is. TypeScript's own library does not know it yet. */
const { rawJSON: rawJson } = JSON as unknown as { rawJSON(text: string): unknown };

/** A number as JavaScript has it; undefined for what is none. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : value instanceof JsonNumber ? value.value : undefined;
}

/** Whether a value of JSON is an object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !(value instanceof JsonNumber);
}
