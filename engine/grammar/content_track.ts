/**
 * Where content is in an output, as it follows from the tokens alone: for what holds for content only. `Place`
 * is where an output is after some of its tokens.
 */
export interface ContentTrack<Place = unknown> {
  /** Where an output begins. */
  readonly start: Place;
  /** Where it is after `tokens[index]`, if it was in `place` before. */
  after(place: Place, tokens: readonly number[], index: number): Place;
  /** Whether content comes next, unless reasoning starts. */
  isContent(place: Place): boolean;
  /** The tokens that begin reasoning instead of content, each by itself. */
  openers(place: Place): readonly number[];
  /** What `tokens[index]`, which has ended reasoning, has of the content behind it: bytes. */
  rest(tokens: readonly number[], index: number): Uint8Array;
}
