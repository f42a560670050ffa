/** @typedef {import("./conversation.js").TreeMessage} TreeMessage */

/**
 * Messages as a chat completion takes them.
 *
 * @param {string} system  Comes first, unless it is empty
 * @param {readonly TreeMessage[]} path
 * @returns {Record<string, unknown>[]}
 */
export function requestMessages(system, path) {
  const messages = path.map(requestMessage);
  return system.trim() === "" ? messages : [{ role: "system", content: system }, ...messages];
}

/**
 * The calls of a message that can be answered: none, where one of them was cut off.
 *
 * @param {TreeMessage} message
 */
export function wholeCalls({ calls = [] }) {
  return calls.every(isWhole) ? calls : [];
}

/** @param {import("./conversation.js").ToolCall} call */
function isWhole({ arguments: text }) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

/** @param {TreeMessage} message */
function requestMessage(message) {
  const { role, content, reasoning, callId, name } = message;
  if (role === "tool") return { role, content, tool_call_id: callId, name };
  if (role === "user") return { role, content };
  const calls = wholeCalls(message);
  return {
    role,
    content,
    reasoning_content: reasoning || undefined,
    tool_calls: calls.length === 0 ? undefined : calls.map(({ id, name, arguments: text }) => ({
      id,
      type: "function",
      function: { name, arguments: text },
    })),
  };
}
