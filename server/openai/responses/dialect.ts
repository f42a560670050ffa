import type { Dialect } from "../../dialect.ts";
import { NAMED_SSE } from "../../answer/mod.ts";
import { OPENAI } from "../mod.ts";

/** The paths of the Responses API. */
export const RESPONSES_PATHS = /^\/v1\/responses(\/|$)/;

/** OpenAI's errors, and the streams of its Responses API. */
export const RESPONSES: Dialect = {
  errorBody: (error) => OPENAI.errorBody(error),
  // Before the first event of a response: those that begin end with `response.failed`.
  streamError: (error) => {
    const { error: body } = error.body();
    const { code, message, param } = body;
    return { type: "error", sequence_number: 0, code, message, param, error: body };
  },
  stream: NAMED_SSE,
};
