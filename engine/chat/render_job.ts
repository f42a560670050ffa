import type { ChatMessage } from "./conversation.ts";

/** What a template is rendered with. */
export interface RenderJob {
  /** The template (Jinja). */
  readonly template: string;
  readonly messages: readonly ChatMessage[];
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

/** What came of it: a text with its marks, or what is wrong. */
export type RenderReply =
  | { readonly text: string }
  | { readonly kind: "limit" | "refusal" | "failure"; readonly message: string };
