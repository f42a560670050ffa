import { z } from "zod";
import type { Dialect, StreamShape } from "../dialect.ts";
import type { HttpError } from "../errors.ts";
import { NAMED_SSE, SSE } from "../answer/mod.ts";

/** The families of errors, in Anthropic's words. */
const ERROR_TYPES = [
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "request_too_large",
  "rate_limit_error",
  "api_error",
  "timeout_error",
  "overloaded_error",
] as const;

/** The body of an error, and the `error` event of a stream. */
export const AnthropicError = z.strictObject({
  type: z.literal("error"),
  error: z.strictObject({
    type: z.enum(ERROR_TYPES).describe("The family of the error."),
    message: z.string().describe(
      "What was got, what was wanted and what to do; the field at fault by name.",
    ),
  }),
  request_id: z.string().describe("As in the header request-id."),
}).meta({ id: "AnthropicError" });
export type AnthropicError = z.output<typeof AnthropicError>;

/** The status with which Anthropic says that it is overloaded. */
const OVERLOADED = 529;

const TYPES: Readonly<Record<number, AnthropicError["error"]["type"]>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  [OVERLOADED]: "overloaded_error",
};

const STREAM: StreamShape = {
  ...NAMED_SSE,
  // The comment is for people; some clients count events alone as a sign of life.
  alive: (waitingFor) =>
    SSE.alive(waitingFor).trimEnd() + '\nevent: ping\ndata: {"type":"ping"}\n\n',
};

/** Anthropic's way to write errors and streams. */
export class AnthropicDialect implements Dialect {
  private readonly requestId = `req_${crypto.randomUUID().replaceAll("-", "")}`;
  readonly headers = { "request-id": this.requestId };
  readonly stream = STREAM;

  status({ status }: HttpError): number {
    return status === 503 ? OVERLOADED : status;
  }

  errorBody(error: HttpError): AnthropicError {
    const status = this.status(error);
    const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
    return {
      type: "error",
      error: { type, message: messageOf(error) },
      request_id: this.requestId,
    };
  }
}

/** What an error says. Agents look for these words to know that a conversation is to be shortened. */
function messageOf({ message, options: { promptTooLong } }: HttpError): string {
  if (promptTooLong === undefined) return message;
  const { tokens, most } = promptTooLong;
  return `prompt is too long: ${tokens} tokens > ${most} maximum: ${message}`;
}
