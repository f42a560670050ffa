import { TAGGED_JSON } from "./hermes.ts";
import type { ToolFormat } from "./tool_format.ts";

/**
 * For models whose template shows no tools, or in an unknown way: a system message asks them to write calls as Hermes
 * does, see `tool_texts.ts`.
 */
export const GENERIC: ToolFormat = {
  name: "generic",
  matches: () => true,
  ...TAGGED_JSON,
};
