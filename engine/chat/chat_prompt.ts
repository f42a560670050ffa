import type { OutputFormat } from "./reasoning.ts";
import type { TemplateDescription } from "./template_description.ts";
import type { ToolUse } from "./tools/tool_use.ts";

/** A conversation as the model reads it. */
export interface ChatPrompt {
  readonly text: string;
  /** Its tokens, BOS included. */
  readonly tokens: readonly number[];
  /** How the model's answer separates reasoning from content. */
  readonly format: OutputFormat;
  /** What was found out about the template, where that was asked for. */
  readonly abilities?: TemplateDescription;
  /** The tools that it may call; absent: none. */
  readonly tools?: ToolUse;
}
