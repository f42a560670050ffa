/** What kind of failure an {@link M40Error} is; the server maps it to a status, the CLI to an exit code. */
export type M40ErrorCode =
  | "invalid_request"
  | "invalid_model"
  | "model_not_found"
  | "context_length_exceeded"
  | "queue_full"
  | "out_of_memory"
  | "device"
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
