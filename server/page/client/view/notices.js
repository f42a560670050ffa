/** @typedef {import("../conversation/conversation.js").TreeMessage} TreeMessage */

/** What there is to say of how an answer ended; empty where it ended by itself. @param {TreeMessage} message */
export function noticeOf({ role, finish, error }) {
  if (role !== "assistant") return "";
  if (finish === undefined) return "This answer was interrupted.";
  if (finish === "failed") return error ?? "The answer failed.";
  if (finish === "stopped") return "Stopped.";
  if (finish === "length") return "The answer has all the tokens that it may have.";
  return "";
}

/** How fast an answer was; empty where that is not known. @param {TreeMessage} message */
export function speedOf({ tokens, seconds }) {
  if (tokens === undefined) return "";
  const count = `${tokens} token${tokens === 1 ? "" : "s"}`;
  if (!seconds || tokens < 2) return count;
  return `${count}, ${((tokens - 1) / seconds).toFixed(1)}/s`;
}
