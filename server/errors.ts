/**
 * Errors as OpenAI's clients expect them: a status, and a body with `message`, `type`, `param` and
 * `code`.
 *
 * @module
 */
import { z } from "zod";
import { M40Error, type M40ErrorCode, PromptTooLong } from "../engine/errors.ts";
import { ModelFailing } from "../engine/manager/mod.ts";
import { standardError } from "./output/mod.ts";
import { printable } from "../engine/printable.ts";

/** Says to OpenAI's and Anthropic's clients whether to send a request again, whatever its status. */
export const SHOULD_RETRY_HEADER = "X-Should-Retry";

/** The body of every answer that is an error. */
export const ErrorBody = z.strictObject({
  error: z.strictObject({
    message: z.string().describe("What was got, what was wanted and what to do."),
    type: z.string().describe("The family of the error, in OpenAI's words."),
    param: z.string().nullable().describe("The parameter at fault, or null."),
    code: z.string().describe("What a program can compare."),
  }),
}).meta({ id: "Error" });
export type ErrorBody = z.output<typeof ErrorBody>;

/** What an {@link HttpError} carries in addition to its status, code and message. */
export interface HttpErrorOptions {
  /** The parameter at fault, as the client spells it. */
  param?: string;
  /** Headers that the answer carries, such as `Allow`. */
  headers?: Record<string, string>;
  /** Of a prompt that is too long: its tokens, and those that it may have. */
  promptTooLong?: { readonly tokens: number; readonly most: number };
}

/** An error with the status that it is answered with. */
export class HttpError extends Error {
  override readonly name = "HttpError";

  /**
   * @param status The HTTP status, 400 to 599.
   * @param code What a program can compare, such as `invalid_api_key`.
   * @param message One or more sentences for the person who wrote the client.
   * @param options The parameter at fault and headers.
   */
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly options: HttpErrorOptions = {},
  ) {
    super(message);
  }

  /** The body, in OpenAI's shape. */
  body(): ErrorBody {
    return {
      error: {
        message: this.message,
        type: errorType(this.status),
        param: this.options.param ?? null,
        code: this.code,
      },
    };
  }

  /** The answer that a client gets. */
  response(): Response {
    return Response.json(this.body(), { status: this.status, headers: this.options.headers });
  }
}

/** A request that is wrong in one parameter. */
export function invalid(param: string, message: string): HttpError {
  return new HttpError(400, "invalid_request", message, { param });
}

/** A request for what m40 does not do, by the parameter that asks for it. */
export function unsupported(param: string, message: string): HttpError {
  return new HttpError(400, "unsupported", message, { param });
}

/** The status of an engine's error. */
const STATUS: Record<M40ErrorCode, number> = {
  invalid_request: 400,
  unsupported: 400,
  context_length_exceeded: 400,
  nothing_allowed: 400,
  model_not_found: 404,
  queue_full: 429,
  // The server stops; or the client has left, and does not see it.
  cancelled: 503,
  timeout: 504,
  out_of_memory: 503,
  device: 503,
  invalid_model: 500,
  not_finite: 500,
  io: 500,
  internal: 500,
};

/**
 * What a client gets of an error. An engine's error has its own message, except for `internal`. Any other error is a
 * fault of the program: it is logged with its stack, and the client gets a number to find it by.
 *
 * @param retryAfterSeconds When a client that found the queue full may come again; default 1.
 */
export function toHttpError(error: unknown, retryAfterSeconds = () => 1): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof M40Error && error.code !== "internal") {
    const { code, param } = error;
    const named = param === undefined || error.message.includes(param);
    const message = named ? error.message : `${param}: ${error.message}`;
    const failing = error instanceof ModelFailing;
    return new HttpError(failing ? 503 : STATUS[code], code, message, {
      param,
      promptTooLong: error instanceof PromptTooLong ? error : undefined,
      headers: failing
        ? { "Retry-After": String(error.retryAfterSeconds) }
        : code === "queue_full"
        ? { "Retry-After": String(retryAfterSeconds()) }
        : code === "timeout"
        // OpenAI's clients send a 504 again by themselves: it would take as long the next time.
        ? { [SHOULD_RETRY_HEADER]: "false" }
        : undefined,
    });
  }
  const reference = crypto.randomUUID().slice(0, 8);
  standardError.say(`m40: internal error ${reference}: ${printable(Deno.inspect(error))}\n`);
  return new HttpError(
    500,
    "internal",
    `The server failed in a way that it should not. Its log has the details under ${reference}.`,
  );
}

/** OpenAI's name for the family of a status. */
function errorType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}
