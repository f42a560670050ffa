import type { ChatFormat, ChatRequest, GenerateRequest } from "../../engine/mod.ts";
import {
  ANSWER_OPTIONS,
  answerRequest,
  choice,
  flag,
  integer,
  jsonObject,
  option,
  type OptionValues,
  text,
} from "../arguments/mod.ts";

/** What can be set of every answer. */
export const TEXT_SETTINGS = {
  ...ANSWER_OPTIONS,
  verbose: flag(
    "Say on stderr how many tokens there were, how fast, and where a GPU is not used, why",
  ),
};

/** What can be set of answers in a conversation. */
export const CHAT_SETTINGS = {
  ...TEXT_SETTINGS,
  reasoning: option(
    choice("separate", "inline", "hidden"),
    "Reasoning before the answer: dimmed on a terminal and in no file, left in the answer, or not shown",
    { default: "separate" },
  ),
  "reasoning-budget": option(
    integer(0),
    "Tokens of reasoning at most, then the answer begins; 0: none; default: no limit",
  ),
  "reasoning-effort": option(
    text("WORD", { words: () => ["low", "medium", "high"] }),
    "How much the model reasons, if the chat template knows it: low, medium, high",
  ),
  "chat-template-kwargs": option(
    jsonObject(),
    'Variables for the chat template: {"enable_thinking": false}',
  ),
};

/** Values of {@link TEXT_SETTINGS}. */
export type TextSettings = OptionValues<typeof TEXT_SETTINGS>;
/** Values of {@link CHAT_SETTINGS}. */
export type ChatSettings = OptionValues<typeof CHAT_SETTINGS>;

/** The request for an answer in a conversation. */
export async function chatRequest(
  chat: ChatFormat,
  conversation: Pick<ChatRequest, "messages" | "tools" | "toolChoice">,
  settings: ChatSettings,
  signal: AbortSignal,
): Promise<GenerateRequest> {
  const { tokens, format, tools } = await chat.prompt({
    ...conversation,
    reasoningEffort: settings["reasoning-effort"],
    templateVariables: settings["chat-template-kwargs"],
  }, signal);
  return {
    prompt: tokens,
    format,
    tools,
    reasoning: settings.reasoning === "inline" ? "inline" : "separate",
    reasoningBudget: settings["reasoning-budget"],
    ...answerRequest(settings),
  };
}
