/** What kind of failure an {@link M40Error} is; the server maps it to a status, the CLI to an exit code. */
export type M40ErrorCode =
  | "invalid_request"
  | "invalid_model"
  | "model_not_found"
  | "context_length_exceeded"
  | "queue_full"
  | "out_of_memory"
  | "device"
  | "not_finite"
  | "nothing_allowed"
  | "io"
  | "unsupported"
  | "cancelled"
  | "timeout"
  | "internal";

/**
 * An error that a person is meant to read: the message says what was got, what was wanted and what
 * to do.
 */
export class M40Error extends Error {
  override readonly name = "M40Error";

  /**
   * @param code What kind of failure this is.
   * @param message One or more sentences for the person who made the request.
   * @param param The name of the parameter at fault, as the caller spells it.
   */
  constructor(readonly code: M40ErrorCode, message: string, readonly param?: string) {
    super(message);
  }
}

/** A prompt with more tokens than allowed; the numbers, for callers with their own wording. */
export class PromptTooLong extends M40Error {
  /**
   * @param tokens Tokens of the prompt; at least so many, where not all were counted.
   * @param most Tokens that it may have, fewer than those.
   */
  constructor(message: string, param: string, readonly tokens: number, readonly most: number) {
    super("context_length_exceeded", message, param);
  }
}

/** Whether an error says that the device is lost: nothing can be computed on it any more. */
export function isDeviceLoss(error: unknown): error is M40Error {
  return error instanceof M40Error && error.code === "device";
}

/** An error as one that is meant to be read; what was not foreseen is "internal". */
export function asM40Error(error: unknown): M40Error {
  if (error instanceof M40Error) return error;
  return new M40Error("internal", error instanceof Error ? error.message : String(error));
}
