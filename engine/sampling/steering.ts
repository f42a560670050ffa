/** The tokens that may come next. */
export interface AllowedTokens {
  /** Bit t of word t >> 5 set: token t is allowed. It may be shared: it must not be changed. */
  readonly mask: Uint32Array;
  /** Whether nothing but the end may come: then the answer ends, however few tokens it has. */
  readonly onlyEnd: boolean;
  /** The token, where the mask has no other, or one that ends the answer, where nothing but that may come. */
  readonly sole?: number;
}

/**
 * Says now and then what comes next, whatever the model would say: what ends a reasoning that has grown too
 * long, for one. The model reads what it was made to say, and goes on from there.
 *
 * The answer must follow from the tokens alone: it may be asked again for tokens that it was asked for before,
 * and for tokens that are drafted and never come. `generated` is the answer so far: it is the caller's, and changes.
 */
export interface Steering {
  /**
   * The only token that may come next, or undefined: any. What it throws ends its own sequence.
   */
  next(generated: readonly number[]): number | undefined;
  /**
   * The tokens that may come next where {@link next} names none; absent or undefined: any. What it throws ends
   * its own sequence.
   *
   * @param drafted How many of them, the last ones, are drafts.
   */
  allowed?(generated: readonly number[], drafted?: number): AllowedTokens | undefined;
  /**
   * Does a part of what {@link allowed} needs, some milliseconds of it at most; the answer is whether that takes little
   * time now. Absent: it always does. What it throws ends its own sequence.
   */
  proceed?(generated: readonly number[]): boolean;
  /**
   * At most so many of the tokens that will likely come next, one after the other: what it costs to be wrong is
   * computing them.
   */
  draft?(generated: readonly number[], most: number): readonly number[];
  /**
   * Does a part of the work to come, a tenth of a millisecond or so: called while the device computes a step. The answer
   * is whether more of it is left.
   */
  prepare?(generated: readonly number[]): boolean;
  /** The answer is under way, or waits, until the promise is settled: so long what steers it takes memory. */
  begun?(over: Promise<unknown>): void;
}
