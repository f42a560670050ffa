/** The longest word that is kept, in code units: a longer one hardly comes again. */
const LONGEST_WORD = 48;
/** How many words a generation has. Two of them with their tokens take about 8 MB. */
const GENERATION_WORDS = 1 << 15;

/**
 * The tokens of the words that came last: text repeats its words, and looking one up takes a tenth of
 * the time of spelling it.
 *
 * It has two generations. When the young one is full it becomes the old one, whose words are forgotten
 * but for those that came again: so what is kept is bounded, and words that come often stay.
 */
export class WordCache {
  #young = new Map<string, readonly number[]>();
  #old = new Map<string, readonly number[]>();

  /** Appends the tokens of a word: those kept, or those that `spell` appends now. */
  encode(word: string, tokens: number[], spell: (word: string, tokens: number[]) => void): void {
    if (word.length > LONGEST_WORD) {
      spell(word, tokens);
      return;
    }
    let kept = this.#young.get(word);
    if (kept === undefined) {
      kept = this.#old.get(word);
      if (kept === undefined) {
        const spelled: number[] = [];
        spell(word, spelled);
        kept = spelled;
      }
      this.#keep(word, kept);
    }
    for (let i = 0; i < kept.length; i++) tokens.push(kept[i]);
  }

  #keep(word: string, tokens: readonly number[]): void {
    if (this.#young.size >= GENERATION_WORDS) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(detached(word), tokens);
  }
}

/** A word of its own: a part of a text, as engines represent it, keeps the whole text in memory. */
function detached(word: string): string {
  return String.fromCharCode(...unitsOf(word));
}

function unitsOf(word: string): number[] {
  const units = new Array<number>(word.length);
  for (let i = 0; i < word.length; i++) units[i] = word.charCodeAt(i);
  return units;
}
