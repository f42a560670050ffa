/** A piece of a tool call on its way. */
export interface ToolCallPiece {
  /** Which call of the answer it is of, from 0. */
  readonly index: number;
  /** In a call's first piece only. */
  readonly id?: string;
  /** In a call's first piece only. */
  readonly name?: string;
  /** What the text of its arguments, a JSON object, goes on with; may be empty. */
  readonly arguments: string;
}
