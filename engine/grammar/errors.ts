import { M40Error } from "../errors.ts";

/** A grammar that cannot be: the message says what is wrong with it, and where. */
export function invalidGrammar(message: string, param = "grammar"): M40Error {
  return new M40Error("invalid_request", message, param);
}

/** A grammar that asks for more than is done for any. */
export function tooLarge(what: string, most: number): M40Error {
  return invalidGrammar(
    `the grammar is too large: ${what}; wanted at most ${most}. Use smaller counts, fewer alternatives or less ` +
      "nesting.",
  );
}
