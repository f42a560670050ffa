import { z } from "zod";
import type { Dialect, StreamShape } from "../dialect.ts";

/** The paths of Ollama's API, those included that are not answered. */
export const OLLAMA_PATHS = /^\/api(\/|$)/;

/** What every error is, in an answer and as a stream's last line. */
export const OllamaError = z.strictObject({
  error: z.string().describe("What was got, what was wanted and what to do."),
}).meta({ id: "OllamaError" });

/** The content type of {@link NDJSON}. */
export const NDJSON_TYPE = "application/x-ndjson";

/** A line of JSON for each event. */
const NDJSON: StreamShape = {
  contentType: NDJSON_TYPE,
  event: (json) => `${json}\n`,
  // White space before the next line's JSON. An empty line is taken for JSON by some clients.
  alive: () => " ",
  end: "",
};

/** Ollama's way to write errors and streams. */
export const OLLAMA: Dialect = {
  errorBody: ({ message }): z.output<typeof OllamaError> => ({ error: message }),
  // Its clients know a server that is busy by 503.
  status: ({ status }) => status === 429 ? 503 : status,
  stream: NDJSON,
};
