/**
 * How likely a guessed token is thought to be right at first, and how much each one that is judged says: an answer's
 * first two are judged before any is guessed.
 */
const FIRST_TRUST = 0.66;
const NEWEST = 0.25;
/** Nothing is guessed where a token is less likely right than this: wrong ones cost as much as drawn ones. */
const LEAST_TRUST = 0.75;
/** Tokens that are guessed at most. */
const MOST_GUESSES = 32;

/**
 * How many tokens are worth guessing for an answer, by how many of the last were right. What would have been guessed
 * is compared with what was drawn also while nothing is guessed, as that costs nothing.
 */
export class Guessing {
  private trust = FIRST_TRUST;
  /** What was thought to come, and how many tokens the answer had then. */
  private thought: readonly number[] = [];
  private place = 0;

  /**
   * What of a guess is made, at most so many tokens of it.
   *
   * @param generated The answer so far.
   * @param find Finds the tokens that are thought to come.
   */
  of(generated: readonly number[], most: number, find: () => readonly number[]): readonly number[] {
    this.judge(generated);
    this.thought = find();
    this.place = generated.length;
    if (this.trust < LEAST_TRUST) return [];
    // As many as are right on average before one is wrong.
    const worth = Math.min(MOST_GUESSES, Math.floor(1 / (1 - this.trust)));
    return this.thought.slice(0, Math.min(most, worth));
  }

  /** Takes in what became of the last guess: of its tokens up to the first that was wrong. */
  private judge(generated: readonly number[]): void {
    const { thought, place } = this;
    for (let i = 0; i < thought.length && place + i < generated.length; i++) {
      const isRight = thought[i] === generated[place + i];
      this.trust += NEWEST * ((isRight ? 1 : 0) - this.trust);
      if (!isRight) return;
    }
  }
}
