/**
 * What other servers' own tools left in a conversation, as a text: searches, code that was run, summaries. A client
 * sends it again with every request, and the model goes on with what can be read of it.
 *
 * @module
 */
import { argumentsText } from "./tool_arguments.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Members with what was said or found; whatever is in them is read likewise. */
const READ = [
  "title",
  "url",
  "source",
  "filename",
  "text",
  "content",
  "code",
  "stdout",
  "stderr",
  "logs",
  "output",
  "outputs",
  "results",
  "tools",
  "description",
  "summary",
  "revised_prompt",
  "error",
  "error_code",
  "message",
] as const;
/** Members with what a tool was given, which are shown as JSON. */
const GIVEN = ["input", "arguments", "action", "operation", "queries"] as const;
/** Levels of lists and objects that are looked into. */
const MOST_LEVELS = 8;
const TYPE = /^[\w.-]{1,64}$/;

/**
 * A block or an item of another server's as a text: its type and its name, then each text that it has. One without
 * texts is named.
 *
 * @param at Where it stands in the body.
 * @throws {HttpError} 400 for what a tool was given, nested beyond all measure.
 */
export function contentAsText(fields: Fields, at: string): string {
  const { type, name } = fields;
  const kind = typeof type === "string" && TYPE.test(type) ? type : "content";
  const called = typeof name === "string" && name !== "" ? ` ${name}` : "";
  const given = GIVEN.map((key) => argumentsText(fields[key], `${at}.${key}`));
  const texts = [...given, ...textsOf(fields)].filter((text) => text !== "");
  if (texts.length === 0) return `[${kind}${called}; not shown: there is no text in it]`;
  return [`[${kind}${called}]`, ...texts].join("\n");
}

function textsOf(fields: Fields, level = 0): string[] {
  return READ.flatMap((key) => textsIn(fields[key], level + 1)).concat(plainData(fields));
}

function textsIn(value: unknown, level: number): string[] {
  // Data of an image or a file is no text.
  if (typeof value === "string") return value === "" || value.startsWith("data:") ? [] : [value];
  if (typeof value !== "object" || value === null || level > MOST_LEVELS) return [];
  if (Array.isArray(value)) return value.flatMap((one) => textsIn(one, level + 1));
  const { name } = value as Fields;
  const named = typeof name === "string" && name !== "" ? [name] : [];
  return [...named, ...textsOf(value as Fields, level)];
}

/** The text of a document that is one. */
function plainData({ type, data }: Fields): string[] {
  return type === "text" && typeof data === "string" && data !== "" ? [data] : [];
}
