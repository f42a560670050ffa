import { M40Error } from "../errors.ts";
import type { Turns } from "../turns.ts";
import { checkCalls, checkTools } from "./check_tools.ts";
import { type ChatRequest, ROLES } from "./conversation.ts";

/** Messages that a conversation may have. */
const MOST_MESSAGES = 16_384;
/** Characters that its texts may have together; a million tokens have about 5 million. */
const MOST_CHARACTERS = 6 * 2 ** 20;
/** Levels of lists and objects in a template's variables. */
const MOST_LEVELS = 32;
/** Names that a template may get values by. */
const NAME = /^[A-Za-z_]\w{0,63}$/;
const OWN_NAMES = new Set(["messages", "add_generation_prompt", "tools"]);

/**
 * Checks a conversation.
 *
 * @param turns Others have theirs before each call and each tool, where it is time for that.
 * @throws {M40Error} "invalid_request" for what no template is to be bothered with.
 */
export async function checkRequest(
  request: ChatRequest,
  turns: Pick<Turns, "next">,
): Promise<void> {
  const { messages, continueFinal, templateVariables, tools, toolChoice } = request;
  const refuse = (message: string, param = "messages") => {
    throw new M40Error("invalid_request", message, param);
  };
  if (messages.length === 0) refuse("messages is empty; wanted at least one");
  if (messages.length > MOST_MESSAGES) {
    refuse(`got ${messages.length} messages; wanted at most ${MOST_MESSAGES}`);
  }
  let characters = 0;
  for (const { role, content, name, reasoning, toolCalls } of messages) {
    // Templates put control tokens together with roles, which have no marks for that.
    if (!ROLES.includes(role)) {
      refuse(
        `got the role ${JSON.stringify(String(role).slice(0, 80))}; wanted ${ROLES.join(", ")}`,
      );
    }
    characters += (name?.length ?? 0) + (reasoning?.length ?? 0);
    if (typeof content === "string") characters += content.length;
    else for (const { text } of content ?? []) characters += text.length;
    for (const { id, name, arguments: text } of toolCalls ?? []) {
      characters += id.length + name.length + text.length;
    }
  }
  if (characters > MOST_CHARACTERS) {
    refuse(`messages have ${characters} characters; wanted at most ${MOST_CHARACTERS}`);
  }
  const { role, toolCalls = [] } = messages.at(-1)!;
  if (continueFinal && role !== "assistant") {
    refuse(`the last message is of the role "${role}"; only an assistant's can be continued`);
  }
  if (continueFinal && toolCalls.length > 0) {
    refuse("the last message calls tools: it is complete, and cannot be continued");
  }
  for (const [index, message] of messages.entries()) {
    if (message.toolCalls?.length) await checkCalls(message, `messages.${index}`, turns);
  }
  if (tools !== undefined || toolChoice !== undefined) await checkTools(request, turns);
  if (templateVariables === undefined) return;
  checkValue(templateVariables);
  for (const name of Object.keys(templateVariables)) {
    if (NAME.test(name) && !OWN_NAMES.has(name)) continue;
    refuse(
      `chat_template_kwargs has ${
        JSON.stringify(name.slice(0, 80))
      }; wanted names of letters, digits and ` +
        `_, other than ${[...OWN_NAMES].join(" and ")}`,
      "chat_template_kwargs",
    );
  }
}

/** @throws {M40Error} "invalid_request" for what is no value of JSON, or nested too deeply. */
function checkValue(value: unknown, level = 0): void {
  const refuse = (message: string) => {
    throw new M40Error(
      "invalid_request",
      `chat_template_kwargs ${message}`,
      "chat_template_kwargs",
    );
  };
  if (level > MOST_LEVELS) refuse(`are nested more than ${MOST_LEVELS} deep`);
  if (["bigint", "function", "symbol"].includes(typeof value)) {
    refuse(`have a ${typeof value} in them; wanted values of JSON`);
  }
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) checkValue(item, level + 1);
}
