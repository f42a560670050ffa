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

/** @param {TreeMessage} message */
function requestMessage({ role, content, reasoning, calls, callId, name }) {
  if (role === "tool") return { role, content, tool_call_id: callId, name };
  if (role === "user") return { role, content };
  return {
    role,
    content,
    reasoning_content: reasoning || undefined,
    tool_calls: calls?.map(({ id, name, arguments: text }) => ({
      id,
      type: "function",
      function: { name, arguments: text },
    })),
  };
}
