import { M40Error } from "../errors.ts";
import type { Turns } from "../turns.ts";
import { callArguments } from "./call_arguments.ts";
import type { ChatMessage, ChatRequest, Tool } from "./conversation.ts";

/** Tools that a request may bring. */
const MOST_TOOLS = 512;
/** Characters of all their names, descriptions and parameters together, as JSON. */
const MOST_CHARACTERS = 2 ** 20;
/** Levels of lists and objects in a tool's parameters. */
const MOST_LEVELS = 64;
/** Calls in one message. */
const MOST_CALLS = 512;
const NAME = /^[A-Za-z0-9_.:/-]{1,128}$/;

/**
 * Checks tools.
 *
 * @param turns Others have theirs before each of them.
 * @throws {M40Error} "invalid_request" for tools and a choice among them that cannot be.
 */
export async function checkTools(
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
    checkName(tool.name, `tools.${index}`);
    if (names.has(tool.name)) {
      refuse(`tools.${index}: there is another tool of the name ${tool.name}`, `tools.${index}`);
    }
    names.add(tool.name);
    characters += charactersOf(tool, index);
    if (characters > MOST_CHARACTERS) {
      refuse(`tools have more than ${MOST_CHARACTERS} characters; send fewer or shorter ones`);
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
export async function checkCalls(
  { role, toolCalls = [] }: ChatMessage,
  at: string,
  turns: Pick<Turns, "next">,
): Promise<void> {
  if (toolCalls.length === 0) return;
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

function charactersOf({ description, parameters }: Tool, index: number): number {
  if (description !== undefined && typeof description !== "string") {
    refuse(`tools.${index}: the description is no text`, `tools.${index}`);
  }
  checkLevels(parameters, `tools.${index}`);
  return (description?.length ?? 0) + (JSON.stringify(parameters)?.length ?? 0);
}

function checkName(name: string, at: string): void {
  if (NAME.test(name)) return;
  refuse(
    `${at}: got the name ${
      JSON.stringify(String(name).slice(0, 80))
    }; wanted 1 to 128 letters, digits, _, ., :, / and -`,
    at,
  );
}

/** Looks at every level of a value once, without a call a level: it may be nested as deeply as JSON can be. */
function checkLevels(value: unknown, at: string): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) {
      refuse(`${at}: lists and objects are nested more than ${MOST_LEVELS} deep`, at);
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
