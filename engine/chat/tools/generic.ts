import { callsInTags, TaggedJsonReader } from "./hermes.ts";
import type { ToolFormat } from "./tool_format.ts";

/** For models whose template shows no tools, or in a way that is not known: they are told in a system message. */
export const GENERIC: ToolFormat = {
  name: "generic",
  openers: ["<tool_call>"],
  matches: () => true,
  calls: callsInTags,
  reader: () => new TaggedJsonReader(),
};
