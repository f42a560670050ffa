import type { ChatMessage, ToolCall } from "./conversation.ts";
import type { Program } from "./jinja/parse.ts";
import type { TemplateDescription } from "./template_description.ts";
import type { ShownTool } from "./tools/shown_tool.ts";

/** A call of a tool, its arguments as text and as the value that it has. */
export interface RenderCall extends ToolCall {
  /** An object. */
  readonly value: unknown;
  /** Whether the text is that of the value; else the value has the text in it. */
  readonly readable: boolean;
}

/** A message as it is rendered, its texts marked. */
export interface RenderMessage extends ChatMessage {
  readonly toolCalls?: readonly RenderCall[];
  /**
   * Which of the messages it is that the conversation has not, but the template wants. Some templates compare messages,
   * and list the tools at each one that equals the last.
   */
  readonly inserted?: number;
}

/** What a template is rendered with. */
export interface RenderJob {
  /** The template (Jinja). */
  readonly template: string;
  readonly messages: readonly RenderMessage[];
  /** The tools that may be called, marked; absent: none. */
  readonly tools?: readonly ShownTool[];
  /** The names of the formats of calls whose words are in the template; default: none. */
  readonly toolFormats?: readonly string[];
  /** Whether the last message goes on; else a new one of the assistant begins. */
  readonly continueFinal: boolean;
  /** The model's special tokens, by the names that templates know them by. */
  readonly specialTokens: Readonly<Record<string, string>>;
  /** How much the model is to reason, as the client says it: `marked` is the word with its marks. */
  readonly effort?: { readonly word: string; readonly marked: string };
  /** What else the request gives the template. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** A character that stands in all texts of the request, so that they are known as its texts. */
  readonly mark: string;
  /** A character that stands nowhere. */
  readonly endMark: string;
  /** Whether the answer is to say what was found out about the template. */
  readonly describe?: boolean;
  /** Characters of what the request brings, as JSON; absent: any number. */
  readonly size?: number;
  /** Whether the answer is to have the program that the template was parsed to. */
  readonly wantsProgram?: boolean;
  /** What time it is, in milliseconds since 1970; default: what it is. */
  readonly now?: number;
}

/** What a template gave. */
export interface Rendered {
  /** The text, with its marks. */
  readonly text: string;
  /** The name of the format in which the model writes its calls; absent: the prompt shows it no tools. */
  readonly toolFormat?: string;
  /** What was found out about the template, where that was asked for. */
  readonly abilities?: TemplateDescription;
  /** Whether the template knows no more than one call a message. */
  readonly oneCall: boolean;
  /** What the template was parsed to, where that was asked for and can go from thread to thread. */
  readonly program?: Program;
}

/** What came of it: a text with its marks, or what is wrong; "lost" is what the template leaves out. */
export type RenderReply =
  | Rendered
  | {
    readonly kind: "limit" | "refusal" | "failure" | "lost";
    readonly message: string;
    readonly param?: string;
  };
