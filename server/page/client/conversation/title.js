/** Letters of a title at most. */
const LONGEST = 60;

/** What a conversation is called that begins with a text. @param {string} text */
export function titleOf(text) {
  const line = text.trim().split("\n", 1)[0].replace(/\s+/g, " ");
  const letters = Array.from(line);
  return letters.length <= LONGEST ? line : `${letters.slice(0, LONGEST - 1).join("")}…`;
}
