import type { Tool } from "../conversation.ts";

/** A tool as templates get it, in the shape of OpenAI's API. */
export interface ShownTool {
  readonly type: "function";
  readonly function: Readonly<Record<string, unknown>>;
}

/** Tools as templates get them. One without parameters has those of an object without properties. */
export function shownTool({ name, description, parameters }: Tool): ShownTool {
  return {
    type: "function",
    function: {
      name,
      ...(description === undefined ? {} : { description }),
      parameters: parameters ?? { type: "object", properties: {} },
    },
  };
}
