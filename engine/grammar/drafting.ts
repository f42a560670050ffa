/** How likely a drafted token is thought to be right before any was judged, and how much each says that is. */
const FIRST_TRUST = 0.66;
const NEWEST = 0.25;
/** How much each says of the answers to come. */
const NEWEST_OF_ALL = 0.05;
/** Nothing is drafted where a token is less likely right than this: wrong ones cost as much as sampled ones. */
const LEAST_TRUST = 0.75;
/** Tokens that are drafted at most. */
const MOST_DRAFTS = 32;

/** How likely drafted tokens are right in an answer that begins, by those of all others: it is the same model's. */
export class DraftTrust {
  /** From 0 to 1. */
  share = FIRST_TRUST;

  judge(isRight: boolean): void {
    this.share += NEWEST_OF_ALL * ((isRight ? 1 : 0) - this.share);
  }
}

/**
 * How many tokens are worth drafting for an answer, by how many of the last were right. Drafts are compared with the
 * sampled tokens also while none are made, as that costs nothing.
 */
export class Drafting {
  private trust: number;
  /** Finds what is thought to come, and how many tokens the answer had then. */
  private find: () => readonly number[] = () => [];
  private place = 0;

  /** @param all The trust in drafts of all answers. */
  constructor(private readonly all: DraftTrust) {
    this.trust = all.share;
  }

  /**
   * What of a draft is made, at most that many tokens of it.
   *
   * @param generated The answer so far.
   * @param find Finds the tokens that are thought to come: also later, and more than once.
   */
  of(generated: readonly number[], most: number, find: () => readonly number[]): readonly number[] {
    this.judge(generated);
    this.find = find;
    this.place = generated.length;
    // What is not drafted need not be known before it is judged.
    if (this.trust < LEAST_TRUST) return [];
    // As many as are right on average before one is wrong.
    const worth = Math.min(MOST_DRAFTS, Math.floor(1 / (1 - this.trust)));
    return find().slice(0, Math.min(most, worth));
  }

  /** Takes in what became of the last draft: of its tokens up to the first that was wrong. */
  private judge(generated: readonly number[]): void {
    const { place } = this;
    if (place >= generated.length) return;
    const thought = this.find();
    for (let i = 0; i < thought.length && place + i < generated.length; i++) {
      const isRight = thought[i] === generated[place + i];
      this.trust += NEWEST * ((isRight ? 1 : 0) - this.trust);
      this.all.judge(isRight);
      if (!isRight) return;
    }
  }
}
