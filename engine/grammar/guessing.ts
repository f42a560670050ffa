/** Tokens that are guessed at first, and at most. */
const FIRST_GUESSES = 4;
const MOST_GUESSES = 32;
/** Tokens that nothing is guessed for, at most, after a guess whose first token was wrong. */
const MOST_PAUSE = 64;

/**
 * How many tokens are worth guessing for an answer, by how many of the last were right: a wrong one costs a row of
 * a step, and says that the model cuts texts in its own way.
 */
export class Guessing {
  private reach = FIRST_GUESSES;
  /** The last guess, and how many tokens the answer had before it. */
  private last: readonly number[] = [];
  private place = 0;
  /** How many tokens nothing is guessed for: now, and the next time that one is wrong. */
  private pause = 0;
  private nextPause = 1;

  /**
   * What of a guess is made, at most so many tokens of it.
   *
   * @param generated The answer so far.
   * @param find Finds the tokens that would be guessed.
   */
  of(generated: readonly number[], most: number, find: () => readonly number[]): readonly number[] {
    this.judge(generated);
    const tokens = find();
    if (tokens.length === 0) return tokens;
    if (this.pause > 0) {
      this.pause--;
      return [];
    }
    this.place = generated.length;
    return this.last = tokens.slice(0, Math.min(most, this.reach));
  }

  /** Takes in what became of the last guess. */
  private judge(generated: readonly number[]): void {
    const { last, place } = this;
    // There may have been no room to compute it.
    const known = generated.slice(place, place + last.length);
    const wrong = known.findIndex((token, i) => token !== last[i]);
    this.last = [];
    if (known.length === 0) return;
    if (wrong < 0) {
      this.reach = Math.min(2 * this.reach, MOST_GUESSES);
      this.nextPause = 1;
    } else if (wrong > 0) {
      this.reach = wrong;
    } else {
      this.reach = 1;
      this.pause = this.nextPause;
      this.nextPause = Math.min(2 * this.nextPause, MOST_PAUSE);
    }
  }
}
