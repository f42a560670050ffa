import type { ChatMessage } from "./conversation.ts";

/** What a template is rendered with. */
export interface RenderJob {
  /** The template (Jinja). */
  readonly template: string;
  readonly messages: readonly ChatMessage[];
  readonly continueFinal: boolean;
  /** Everything else that the template can name. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** What came of it. */
export type RenderReply = { readonly text: string } | { readonly error: string };
