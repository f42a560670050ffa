/** The longest word that is kept, in code units: a longer one hardly comes again. */
const LONGEST_WORD = 48;
/** Bytes that a generation may take, by estimate; there are two. */
const GENERATION_BYTES = 8 * 2 ** 20;
/** What an entry takes in addition to its characters and tokens, by estimate. */
const ENTRY_BYTES = 96;
/** From this length on V8 makes a part of a text refer to the text instead of copying it. */
const SHARED_LENGTH = 13;

/** The tokens of a word: one, or several. */
type Spelling = number | readonly number[];

/**
 * The tokens of the words that came last: text repeats its words, and looking one up takes a tenth of
 * the time of spelling it.
 *
 * It has two generations. When the young one is full it replaces the old one, and words that did not come again are
 * forgotten. So its size is bounded, and frequent words stay.
 */
export class WordCache {
  #young = new Map<string, Spelling>();
  #old = new Map<string, Spelling>();
  #bytes = 0;

  /** Appends the tokens of a word: those kept, or those that `spell` appends now. */
  encode(word: string, tokens: number[], spell: (word: string, tokens: number[]) => void): void {
    const kept = this.#young.get(word) ?? this.#fromOld(word);
    if (kept === undefined) {
      const start = tokens.length;
      spell(word, tokens);
      this.#keep(word, tokens.length === start + 1 ? tokens[start] : tokens.slice(start));
    } else if (typeof kept === "number") {
      tokens.push(kept);
    } else {
      for (let i = 0; i < kept.length; i++) tokens.push(kept[i]);
    }
  }

  #fromOld(word: string): Spelling | undefined {
    const spelling = this.#old.get(word);
    if (spelling !== undefined) this.#keep(word, spelling);
    return spelling;
  }

  #keep(word: string, spelling: Spelling): void {
    if (word.length > LONGEST_WORD) return;
    this.#bytes += ENTRY_BYTES + 2 * word.length +
      (typeof spelling === "number" ? 0 : 16 + 8 * spelling.length);
    if (this.#bytes > GENERATION_BYTES) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#bytes = 0;
    }
    this.#young.set(word.length < SHARED_LENGTH ? word : detached(word), spelling);
  }
}

/** A word of its own: a part of a text, as engines represent it, keeps the whole text in memory. */
function detached(word: string): string {
  const units = new Array<number>(word.length);
  for (let i = 0; i < word.length; i++) units[i] = word.charCodeAt(i);
  return String.fromCharCode(...units);
}
