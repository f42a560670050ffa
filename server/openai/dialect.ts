import type { Dialect } from "../dialect.ts";
import { SSE } from "../answer/mod.ts";

/** OpenAI's way to write errors and streams, which all routes have that no other dialect has. */
export const OPENAI: Dialect = {
  errorBody: (error) => error.body(),
  stream: { ...SSE, end: SSE.event("[DONE]") },
};
