import { M40Error } from "../errors.ts";

/** Characters of a message's start and of its end that are kept. */
const MOST_SHOWN = 350;

/** A message without its middle where it is long: it may have names of the request in it. */
export function shortened(message: string): string {
  if (message.length <= 2 * MOST_SHOWN) return message;
  return `${message.slice(0, MOST_SHOWN)} ... ${message.slice(-MOST_SHOWN)}`;
}

/** A grammar that cannot be: the message says what is wrong with it, and where. */
export function invalidGrammar(message: string, param = "grammar"): M40Error {
  return new M40Error("invalid_request", shortened(message), param);
}

/** A grammar that asks for more than is done for any. */
export function tooLarge(what: string, most: number): M40Error {
  return invalidGrammar(
    `the grammar is too large: ${what}; wanted at most ${most}. Use smaller counts, fewer alternatives or less ` +
      "nesting.",
  );
}
