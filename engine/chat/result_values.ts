import { isJsonObject, orderedObject, parseJson } from "../json/mod.ts";
import type { Marks } from "./jinja/marks.ts";
import type { ShownMessage } from "./messages.ts";

/** What templates know the value of a tool's result by, where its text is JSON. */
export const RESULT_VALUE = "content_json";

/** Adds parsed values to results whose texts are JSON: Mistral's format before 2025 shows those. */
export function addResultValues(messages: readonly ShownMessage[], marks: Marks): void {
  for (const message of messages) {
    if (message.role !== "tool" || typeof message.content !== "string") continue;
    const value = valueOf(marks.plain(message.content));
    if (value !== undefined) message[RESULT_VALUE] = marked(value, marks);
  }
}

function valueOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** A value with all of its texts marked throughout, keys too. */
function marked(value: unknown, marks: Marks): unknown {
  if (typeof value === "string") return marks.mark === "" ? value : marks.protect(value);
  if (Array.isArray(value)) return value.map((item) => marked(item, marks));
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([key, item]) =>
    [marks.mark === "" ? key : marks.protect(key), marked(item, marks)] as const
  );
  return orderedObject(members);
}
