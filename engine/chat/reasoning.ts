/** A piece of output, told apart. */
export interface OutputPiece {
  readonly reasoning: string;
  /** What is said to the user. */
  readonly text: string;
}

/** Tells reasoning from content in one output, as its tokens arrive. */
export interface OutputReader {
  /** Whether the next token is expected to be one of reasoning. */
  readonly inReasoning: boolean;
  /**
   * What is certain now. A piece of text that may be the start of a marker is held back.
   *
   * @param token The token that was drawn.
   * @param text The text that the decoder gave for it; empty for a control token.
   */
  push(token: number, text: string): OutputPiece;
  /** Takes text that belongs to no token any more, and gives what was held back: the output is over. */
  flush(text: string): OutputPiece;
}

/** How a model's output tells its reasoning from its content. */
export interface OutputFormat {
  /** Begins to read an output. */
  reader(): OutputReader;
  /** The tokens that end reasoning, as the model would write them; none where nothing can end it. */
  readonly endOfReasoning: readonly number[];
}
