import type { Tool, ToolChoice } from "../conversation.ts";
import type { ToolFormat } from "./tool_format.ts";

/** Which tools an answer may call, and how the model writes that. */
export interface ToolUse {
  readonly format: ToolFormat;
  /** At least one. */
  readonly tools: readonly Tool[];
  readonly choice: Exclude<ToolChoice, "none">;
  /** Whether an answer may call several. */
  readonly parallel: boolean;
}
