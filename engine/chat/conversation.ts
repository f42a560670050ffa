import type { OutputFormat } from "./reasoning.ts";

/** Who says a message. */
export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** The roles, as requests name them. */
export const ROLES: readonly Role[] = ["system", "developer", "user", "assistant", "tool"];

/** A piece of a message's text. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: Role;
  /** What is said: a text, or pieces of one. Null: nothing. */
  readonly content: string | readonly TextPart[] | null;
  /** Who of several participants in the same role. */
  readonly name?: string;
  /** What an assistant thought before its answer, where a client sends that back. */
  readonly reasoning?: string;
}

/** A conversation that is to be continued by the model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Whether the last message, an assistant's, is unfinished and goes on. Default: a new one begins. */
  readonly continueFinal?: boolean;
  /** What the template is told beside the messages, such as `enable_thinking`. */
  readonly templateVariables?: Readonly<Record<string, unknown>>;
  /** How much the model is to think; the template gets it as `reasoning_effort`. */
  readonly reasoningEffort?: string;
  /** One of the file's named templates, such as `tool_use`. Default: its default one. */
  readonly templateName?: string;
}

/** A conversation as the model reads it. */
export interface ChatPrompt {
  readonly text: string;
  /** Its tokens, BOS included. */
  readonly tokens: readonly number[];
  /** How reasoning is told from content in what the model answers. */
  readonly format: OutputFormat;
}
