/** The role that says a message. */
export type Role = "system" | "developer" | "user" | "assistant" | "tool";

/** The roles, as requests name them. */
export const ROLES: readonly Role[] = ["system", "developer", "user", "assistant", "tool"];

/** A piece of a message's text. */
export interface TextPart {
  readonly type: "text";
  readonly text: string;
}

/** A function of the client's that the model may call. */
export interface Tool {
  /** Letters, digits, `_`, `.`, `:`, `/` and `-`, up to 128. */
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of its arguments, an object. Absent: it takes none. */
  readonly parameters?: unknown;
  /**
   * Whether parameters that no grammar can enforce are refused. Default false: keywords that ask for more are left
   * to the model.
   */
  readonly strict?: boolean;
}

/** Which tools an answer calls: none, those that the model wants, at least one, or the one of a name. */
export type ToolChoice = "none" | "auto" | "required" | { readonly name: string };

/** A call of a tool in an assistant's message. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  /** A JSON object, as its text. */
  readonly arguments: string;
}

/** A message of a conversation. */
export interface ChatMessage {
  readonly role: Role;
  /** What is said: a text, or pieces of one. Null: nothing. */
  readonly content: string | readonly TextPart[] | null;
  /** Which of several participants in the same role. */
  readonly name?: string;
  /** What an assistant thought before its answer, where a client sends that back. */
  readonly reasoning?: string;
  /** The tools that an assistant called. */
  readonly toolCalls?: readonly ToolCall[];
  /** Which call a tool's message is the result of. */
  readonly toolCallId?: string;
  /** Where it stands in the body that it came in, such as "messages.0.content", for errors. */
  readonly at?: string;
}

/** A conversation that is to be continued by the model. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Whether the last message, an assistant's, is unfinished and goes on. Default: a new one begins. */
  readonly continueFinal?: boolean;
  /** What the template gets in addition to the messages, such as `enable_thinking`. */
  readonly templateVariables?: Readonly<Record<string, unknown>>;
  /** How much the model is to think; the template gets it as `reasoning_effort`. */
  readonly reasoningEffort?: string;
  /** One of the file's named templates, such as `tool_use`. Default: its default one. */
  readonly templateName?: string;
  /** Default: none. */
  readonly tools?: readonly Tool[];
  /** Default: "auto". */
  readonly toolChoice?: ToolChoice;
  /** Whether an answer may call several tools; default true. */
  readonly parallelToolCalls?: boolean;
}

/** What a message says, as one text. */
export function textOf(content: string | readonly TextPart[] | null): string {
  if (content === null || typeof content === "string") return content ?? "";
  return content.map(({ text }) => text).join("\n");
}

/** Whether a message instructs the model. */
export function isSystem({ role }: ChatMessage): boolean {
  return role === "system" || role === "developer";
}
