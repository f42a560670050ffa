import { isJsonObject } from "../engine/json/mod.ts";
import { clipped } from "./tool_list.ts";

/** What came of a call. */
export interface ToolResult {
  /** What the model gets. */
  readonly text: string;
  /** Whether the tool did not do what was asked. */
  readonly failed: boolean;
}

/** A result as a server gives it. */
export interface RawResult {
  readonly content?: readonly unknown[];
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

/**
 * A result as a text: its texts, and in words what else there is.
 *
 * @param most The most characters that it may have; a note in the middle says what is left out.
 */
export function readResult(
  { content = [], structuredContent, isError }: RawResult,
  most: number,
): ToolResult {
  const parts = content.map(partText).filter((text) => text !== "");
  if (parts.length === 0 && structuredContent !== undefined) parts.push(asJson(structuredContent));
  const failed = isError === true;
  const text = parts.join("\n") || (failed ? "The tool failed and said nothing." : "(no content)");
  return { text: shortened(text.toWellFormed(), most), failed };
}

/** A text whose middle is left out where it is longer than this. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor(most / 4);
  const begin = most - end;
  const gap = `\n[… ${text.length - most} of ${text.length} characters are left out here …]\n`;
  return (text.slice(0, begin) + gap + text.slice(-end)).toWellFormed();
}

function partText(part: unknown): string {
  if (!isJsonObject(part)) return "[content that is no object]";
  const { type, text, data, mimeType, resource, uri, name } = part;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : "[a text that is none]";
    case "image":
    case "audio":
      return `[${type}${kind(mimeType)}${size(data)}; not shown]`;
    case "resource_link":
      return `[link to a resource${label(name)}${label(uri)}]`;
    case "resource":
      return isJsonObject(resource) ? resourceText(resource) : "[a resource that is none]";
    default:
      return `[content of the type ${JSON.stringify(clipped(String(type), 60))}; not shown]`;
  }
}

function resourceText({ uri, mimeType, text, blob }: Record<string, unknown>): string {
  if (typeof text === "string") return `[resource${label(uri)}${kind(mimeType)}]\n${text}`;
  return `[resource${label(uri)}${kind(mimeType)}${size(blob)}; not shown]`;
}

function label(value: unknown): string {
  return typeof value === "string" ? ` ${clipped(value, 300)}` : "";
}

function kind(value: unknown): string {
  return typeof value === "string" ? ` of the type ${clipped(value, 100)}` : "";
}

/** The size of what is written in base64. */
function size(value: unknown): string {
  return typeof value === "string" ? `, ${Math.floor(value.length * 3 / 4)} bytes` : "";
}

function asJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "[structured content that is nested too deeply]";
  }
}
