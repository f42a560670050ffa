/**
 * Chat: conversations into prompts by the model's template, and reasoning told from content in what
 * comes out.
 *
 * @module
 */
export type { ChatFormat } from "./chat_format.ts";
export type { ChatPrompt } from "./chat_prompt.ts";
export {
  type ChatMessage,
  type ChatRequest,
  type Role,
  ROLES,
  type TextPart,
  type Tool,
  type ToolCall,
  type ToolChoice,
} from "./conversation.ts";
export type { OutputFormat, OutputPiece, OutputReader } from "./reasoning.ts";
export type { ToolCallPiece } from "./tools/call_piece.ts";
export type { TemplateDescription } from "./template_description.ts";
export type { ToolUse } from "./tools/tool_use.ts";
export { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
