import { AnthropicDialect, VERSION_HEADER } from "./anthropic/mod.ts";
import { OLLAMA, OLLAMA_PATHS } from "./ollama/mod.ts";
import { OPENAI } from "./openai/mod.ts";
import { RESPONSES, RESPONSES_PATHS } from "./openai/responses/mod.ts";
import type { Dialect } from "./dialect.ts";

/** Dialects but that of most of OpenAI's paths: the paths that each answers, known or not, and how it is made for a request. */
const OTHERS: readonly { readonly paths: RegExp; readonly make: () => Dialect }[] = [
  { paths: /^\/v1\/messages(\/|$)/, make: () => new AnthropicDialect() },
  { paths: RESPONSES_PATHS, make: () => RESPONSES },
  { paths: OLLAMA_PATHS, make: () => OLLAMA },
];

/** Paths that OpenAI's clients ask for as well as Anthropic's. */
const SHARED_PATHS = /^\/v1\/models(\/|$)/;

/**
 * How errors and streams of a path are written.
 *
 * @param header Gives a header of the request.
 */
export function dialectOf(path: string, header: (name: string) => string | undefined): Dialect {
  if (SHARED_PATHS.test(path) && header(VERSION_HEADER) !== undefined) {
    return new AnthropicDialect();
  }
  for (const { paths, make } of OTHERS) if (paths.test(path)) return make();
  return OPENAI;
}
