import type { ChatMessage, ToolCall } from "./conversation.ts";
import type { ShownTool } from "./tools/shown_tool.ts";

/** A call of a tool, its arguments as text and as the value that it has. */
export interface RenderCall extends ToolCall {
  readonly value: unknown;
}

/** A message as it is rendered, its texts marked. */
export interface RenderMessage extends ChatMessage {
  readonly toolCalls?: readonly RenderCall[];
}

/** What a template is rendered with. */
export interface RenderJob {
  /** The template (Jinja). */
  readonly template: string;
  readonly messages: readonly RenderMessage[];
  /** The tools that may be called, marked; absent: none. */
  readonly tools?: readonly ShownTool[];
  /** The name of the format in which the model writes its calls; absent: the generic one. */
  readonly toolFormat?: string;
  /** Whether tools, calls and results are texts of messages, because the template's own way is not known. */
  readonly toolsAsText?: boolean;
  /** Whether the last message goes on; else a new one of the assistant begins. */
  readonly continueFinal: boolean;
  /** The model's special tokens, by the names that templates know them by. */
  readonly specialTokens: Readonly<Record<string, string>>;
  /** What else the request tells the template. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** A character that stands in all texts of the request, so that they are known as its texts. */
  readonly mark: string;
  /** A character that stands nowhere. */
  readonly endMark: string;
  /** What time it is, in milliseconds since 1970; default: what it is. */
  readonly now?: number;
}

/** What a template gave. */
export interface Rendered {
  /** The text, with its marks. */
  readonly text: string;
  /** Whether tools, calls and results became texts of messages. */
  readonly toolsAsText: boolean;
  /** Whether the template knows no more than one call a message. */
  readonly oneCall: boolean;
}

/** What came of it: a text with its marks, or what is wrong. */
export type RenderReply =
  | Rendered
  | { readonly kind: "limit" | "refusal" | "failure"; readonly message: string };
