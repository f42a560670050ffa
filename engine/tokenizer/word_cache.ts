/** The longest word that is kept, in code units: longer ones do not come twice. */
const LONGEST_WORD = 64;
/** Bytes that a generation may take, by estimate; there are two. */
const GENERATION_BYTES = 8 * 2 ** 20;
/** What an entry takes beside its characters and tokens, by estimate. */
const ENTRY_BYTES = 96;
/** From this length on V8 makes a part of a text refer to the text instead of copying it. */
const SHARED_LENGTH = 13;

/**
 * The tokens of words that came before: text repeats its words. It has two generations of limited size;
 * what is found moves to the young one, and when that is full the old one is forgotten. So memory is
 * bounded whatever comes, and words that come often stay.
 */
export class WordCache {
  #young = new Map<string, number | readonly number[]>();
  #old = new Map<string, number | readonly number[]>();
  #bytes = 0;

  /** A token, several, or undefined for a word that is not here. */
  get(word: string): number | readonly number[] | undefined {
    const tokens = this.#young.get(word);
    if (tokens !== undefined) return tokens;
    const old = this.#old.get(word);
    if (old !== undefined) this.set(word, old);
    return old;
  }

  /** Appends the tokens of a word: those that are here, or those that `spell` appends now. */
  encode(word: string, tokens: number[], spell: (word: string, tokens: number[]) => void): void {
    const known = this.get(word);
    if (known === undefined) {
      const start = tokens.length;
      spell(word, tokens);
      this.set(word, tokens.length === start + 1 ? tokens[start] : tokens.slice(start));
    } else if (typeof known === "number") {
      tokens.push(known);
    } else {
      for (const token of known) tokens.push(token);
    }
  }

  set(word: string, tokens: number | readonly number[]): void {
    if (word.length > LONGEST_WORD) return;
    this.#bytes += ENTRY_BYTES + 2 * word.length +
      (typeof tokens === "number" ? 0 : 16 + 8 * tokens.length);
    if (this.#bytes > GENERATION_BYTES) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#young.set(word.length < SHARED_LENGTH ? word : copyOf(word), tokens);
  }
}

/** The same text without the one that it is a part of, which would otherwise stay in memory. */
function copyOf(text: string): string {
  const units: number[] = [];
  for (let i = 0; i < text.length; i++) units.push(text.charCodeAt(i));
  return String.fromCharCode(...units);
}
