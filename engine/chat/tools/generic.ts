import { TAGGED_JSON } from "./hermes.ts";
import type { ToolFormat } from "./tool_format.ts";

/**
 * For models whose template shows no tools, or in a way that is not known: they are told in a system message,
 * see `tool_texts.ts`, to write calls as Hermes does.
 */
export const GENERIC: ToolFormat = {
  name: "generic",
  matches: () => true,
  ...TAGGED_JSON,
};
