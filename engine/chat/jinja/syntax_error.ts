/** A template that cannot be parsed. */
export class TemplateSyntaxError extends Error {
  override readonly name = "TemplateSyntaxError";
  /** @param line Where it is, from 1 on. */
  constructor(message: string, readonly line: number) {
    super(`${message} (line ${line})`);
  }
}
