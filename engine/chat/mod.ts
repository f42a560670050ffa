/**
 * Chat: conversations into prompts by the model's template, and output into reasoning and content.
 *
 * @module
 */
export type { ChatFormat, ChatPrompt } from "./chat_format.ts";
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
export type { TemplateDescription } from "./template_description.ts";
export type { ToolUse } from "./tools/tool_format.ts";
export { BUILT_IN_TEMPLATES } from "./templates/mod.ts";
export { loadChat } from "./load.ts";
export { type ModelTemplates, modelTemplates } from "./model_templates.ts";
export type { OutputFormat, OutputPiece, OutputReader, ToolCallPiece } from "./reasoning.ts";
export { NO_OUTPUT } from "./reasoning.ts";
export { REASONING_TAGS, TaggedReasoning } from "./tagged_reasoning.ts";
export { TemplateFile } from "./template_file.ts";
export { argumentsSchema } from "./tools/arguments_schema.ts";
export { TOOL_FORMATS } from "./tools/formats.ts";
export { GENERIC } from "./tools/hermes.ts";
export { toolConstraint } from "./tools/tool_grammar.ts";
export { ToolOutput } from "./tools/tool_output.ts";
