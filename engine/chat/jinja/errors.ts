import type { Undefined } from "./values.ts";

/** What a template says by `raise_exception`. */
export class TemplateRefusal extends Error {
  override readonly name = "TemplateRefusal";
}

/** Which of Python's errors it is; Jinja catches some of them. */
export type ErrorKind = "TypeError" | "ValueError" | "LookupError" | "OverflowError" | "other";

/** An operation failed, as it does in Python. */
export class TemplateError extends Error {
  override readonly name = "TemplateError";
  /** The line of the template in which it failed, from 1 on, where that is known. */
  line?: number;

  constructor(readonly kind: ErrorKind, message: string) {
    super(message);
  }
}

/** The template has what Jinja knows and this does not. */
export class Unsupported extends Error {
  override readonly name = "Unsupported";
  constructor(what: string) {
    super(`${what} is not supported in chat templates here`);
  }
}

export const typeError = (message: string) => new TemplateError("TypeError", message);
export const valueError = (message: string) => new TemplateError("ValueError", message);
export const lookupError = (message: string) => new TemplateError("LookupError", message);
export const overflowError = (message: string) => new TemplateError("OverflowError", message);

/** What comes of using what is not there. */
export const undefinedError = (value: Undefined) => new TemplateError("other", value.message);
