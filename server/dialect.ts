import type { HttpError } from "./errors.ts";

/** How a stream is written down. */
export interface StreamShape {
  readonly contentType: string;
  /** An event. */
  event(json: string): string;
  /** What its readers pass over: it shows that the stream lives, and says what is waited for. */
  alive(waitingFor: string): string;
  /** What follows on the last event of a complete answer; may be empty. */
  readonly end: string;
}

/** What a family of routes writes in its own way; one for each request (`app.ts` knows them all). */
export interface Dialect {
  /** Headers that every answer carries, errors too. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The status that an error is answered with; absent: its own. */
  status?(error: HttpError): number;
  /** The body of an error. */
  errorBody(error: HttpError): unknown;
  /** The last event of a stream that an error ends; absent: the body. */
  streamError?(error: HttpError): unknown;
  readonly stream: StreamShape;
}

/** An error as the answer that a client gets. */
export function errorResponse(dialect: Dialect, error: HttpError): Response {
  return Response.json(dialect.errorBody(error), {
    status: dialect.status?.(error) ?? error.status,
    headers: error.options.headers,
  });
}
