import { M40Error } from "../errors.ts";
import type { Turns } from "../turns.ts";
import { callArguments } from "./call_arguments.ts";
import { type ChatMessage, type ChatRequest, ROLES, type ToolCall } from "./conversation.ts";

const MOST_MESSAGES = 16_384;
/** Characters that its texts may have together; a million tokens have about 5 million. */
const MOST_CHARACTERS = 6 * 2 ** 20;
/** Levels of lists and objects in a template's variables. */
const MOST_LEVELS = 32;
/** Names that a template may get values by. */
const NAME = /^[A-Za-z_]\w{0,63}$/;
const OWN_NAMES = new Set(["messages", "add_generation_prompt", "tools"]);
const MOST_TOOLS = 512;
/** Characters of all their names, descriptions and parameters together, as JSON. */
const MOST_TOOL_CHARACTERS = 2 ** 20;
/** Levels of lists and objects in a tool's parameters. */
const MOST_TOOL_LEVELS = 64;
/** Calls in one message. */
const MOST_CALLS = 512;
const TOOL_NAME = /^[A-Za-z0-9_.:/-]{1,128}$/;

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
  const name = "chat_template_kwargs";
  if (level > MOST_LEVELS) refuse(`${name} are nested more than ${MOST_LEVELS} deep`, name);
  if (["bigint", "function", "symbol"].includes(typeof value)) {
    refuse(`${name} have a ${typeof value} in them; wanted values of JSON`, name);
  }
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) checkValue(item, level + 1);
}

/**
 * Messages without the calls that were cut: whose arguments are no JSON object, and that no result answers before the
 * assistant speaks again. Clients keep such a call, and send it with every request from there on.
 *
 * @param turns Others have theirs before the arguments of a call are read: they may be long.
 */
export async function withoutCutCalls(
  messages: readonly ChatMessage[],
  turns: Pick<Turns, "next">,
): Promise<readonly ChatMessage[]> {
  let calls = 0;
  for (const { toolCalls } of messages) calls += toolCalls?.length ?? 0;
  if (calls === 0) return messages;
  let answered = new Set<string | undefined>();
  const kept: ChatMessage[] = [];
  for (const message of messages.toReversed()) {
    const { role, toolCalls, toolCallId, ...rest } = message;
    if (role === "tool") answered.add(toolCallId);
    const results = answered;
    if (role === "assistant") answered = new Set();
    if (role !== "assistant" || toolCalls === undefined) {
      kept.push(message);
      continue;
    }
    const whole: ToolCall[] = [];
    for (const call of toolCalls) {
      if (!results.has(call.id)) {
        await turns.next();
        if (!callArguments(call.arguments).readable) continue;
      }
      whole.push(call);
    }
    if (whole.length === toolCalls.length) kept.push(message);
    else kept.push(whole.length === 0 ? { role, ...rest } : { role, ...rest, toolCalls: whole });
  }
  return kept.toReversed();
}

/**
 * Checks tools.
 *
 * @param turns Others have theirs before each of them.
 * @throws {M40Error} "invalid_request" for tools and a choice among them that cannot be.
 */
async function checkTools(
  { tools = [], toolChoice = "auto" }: ChatRequest,
  turns: Pick<Turns, "next">,
): Promise<void> {
  if (tools.length > MOST_TOOLS) {
    refuse(`got ${tools.length} tools; wanted at most ${MOST_TOOLS}`);
  }
  const names = new Set<string>();
  let characters = 0;
  for (const [index, tool] of tools.entries()) {
    await turns.next();
    const at = `tools.${index}`;
    const { name, description, parameters } = tool;
    if (!TOOL_NAME.test(name)) {
      const got = JSON.stringify(String(name).slice(0, 80));
      refuse(`${at}: got the name ${got}; wanted 1 to 128 letters, digits, _, ., :, / and -`, at);
    }
    if (names.has(name)) refuse(`${at}: there is another tool of the name ${name}`, at);
    names.add(name);
    if (description !== undefined && typeof description !== "string") {
      refuse(`${at}: the description is no text`, at);
    }
    checkLevels(parameters, at);
    characters += (description?.length ?? 0) + (JSON.stringify(parameters)?.length ?? 0);
    if (characters > MOST_TOOL_CHARACTERS) {
      refuse(`tools have more than ${MOST_TOOL_CHARACTERS} characters; send fewer or shorter ones`);
    }
  }
  if (toolChoice === "required" && names.size === 0) {
    refuse("tool_choice asks for a call, and there are no tools to call", "tool_choice");
  }
  if (typeof toolChoice !== "object" || names.has(toolChoice.name)) return;
  refuse(
    `tool_choice asks for ${JSON.stringify(toolChoice.name.slice(0, 80))}; ${
      names.size === 0 ? "there are no tools" : "no tool has that name"
    }`,
    "tool_choice",
  );
}

/**
 * Checks the calls of a message.
 *
 * @param at The message's place.
 * @param turns Others have theirs before each of them: its arguments may be long.
 * @throws {M40Error} "invalid_request" for calls that cannot be.
 */
async function checkCalls(
  { role, toolCalls = [] }: ChatMessage,
  at: string,
  turns: Pick<Turns, "next">,
): Promise<void> {
  const place = `${at}.tool_calls`;
  if (role !== "assistant") refuse(`${place}: only an assistant calls tools`, place);
  if (toolCalls.length > MOST_CALLS) {
    refuse(`${place}: got ${toolCalls.length} calls; wanted at most ${MOST_CALLS}`, place);
  }
  // A model has made the names and the arguments up: whatever they are, they are shown.
  for (const [index, { arguments: text }] of toolCalls.entries()) {
    await turns.next();
    checkLevels(callArguments(text).value, `${place}.${index}`);
  }
}

/** Looks at every level of a value once, without a call a level: it may be nested as deeply as JSON can be. */
function checkLevels(value: unknown, at: string): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_TOOL_LEVELS) {
      refuse(`${at}: lists and objects are nested more than ${MOST_TOOL_LEVELS} deep`, at);
    }
    level = level.flatMap((one) => {
      if (["bigint", "function", "symbol"].includes(typeof one)) {
        refuse(`${at}: got a ${typeof one}; wanted values of JSON`, at);
      }
      return typeof one === "object" && one !== null ? Object.values(one) : [];
    });
  }
}

function refuse(message: string, param = "tools"): never {
  throw new M40Error("invalid_request", message.slice(0, 400), param);
}
