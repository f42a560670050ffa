/** Numbers that decide how a file is fetched; tests take other ones. */
export interface Tuning {
  /** What one connection fetches with one request, in bytes. */
  readonly pieceBytes: number;
  /** After this long without a few KiB a connection is given up, in milliseconds. */
  readonly stallMs: number;
  /** Tries that fail one after the other, without much fetched in between, before it is given up. */
  readonly attempts: number;
  /** The pause after the first failed try; each later one is twice as long, in milliseconds. */
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** The longest that a server's Retry-After is obeyed, in milliseconds. */
  readonly longestRetryAfterMs: number;
  /** Between two writings of the journal, in milliseconds. */
  readonly checkpointMs: number;
  /** Free bytes that the disk keeps; a twentieth of a smaller disk. */
  readonly reserveBytes: number;
}

export const DEFAULT_TUNING: Tuning = {
  pieceBytes: 32 * 2 ** 20,
  stallMs: 30_000,
  attempts: 8,
  firstPauseMs: 500,
  longestPauseMs: 30_000,
  longestRetryAfterMs: 300_000,
  checkpointMs: 1000,
  reserveBytes: 2 ** 30,
};
