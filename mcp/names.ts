/**
 * The names by which a model calls the tools of several servers: `SERVER__TOOL`, of letters, digits, `_` and `-`,
 * which every model's templates and other servers' rules bear.
 *
 * A server's part never has two underscores in a row and ends with none, so that the text before the first `__` names
 * the server. No server can give a tool the name of another one's, which may be allowed.
 *
 * @module
 */
/** The longest name of a tool; OpenAI's limit. */
const MOST_CHARACTERS = 64;
/** The longest part that is a server's. */
const MOST_SERVER_CHARACTERS = 24;
const BETWEEN = "__";

/** A server's part of its tools' names, unlike those that are taken. */
export function plainName(key: string, taken: ReadonlySet<string>): string {
  const words = key.replace(/[^A-Za-z0-9-]+/g, "_").slice(0, MOST_SERVER_CHARACTERS);
  return unlike(words.replace(/^_+|(?<!_)_+$/g, "") || "server", taken, "_");
}

/** The name of a server's tool, unlike those of its other tools that are taken. */
export function toolName(server: string, tool: string, taken: ReadonlySet<string>): string {
  const plain = tool.replace(/[^A-Za-z0-9_-]/g, "_") || "tool";
  const most = MOST_CHARACTERS - server.length - BETWEEN.length;
  // Cut names differ by a hash of what was cut.
  const short = plain.length <= most ? plain : `${plain.slice(0, most - 9)}_${digest(tool)}`;
  return unlike(server + BETWEEN + short, taken, "_");
}

/** Whether a text stands for all tools of a server. */
export function isServerPattern(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}__\*$/.test(text);
}

/** Whether a tool is among those that are named. */
export function isNamed(name: string, server: string, patterns: readonly string[]): boolean {
  return patterns.includes(name) || patterns.includes(`${server}${BETWEEN}*`);
}

function unlike(name: string, taken: ReadonlySet<string>, between: string): string {
  let free = name;
  for (let i = 2; taken.has(free); i++) {
    const end = between + i;
    free = name.slice(0, MOST_CHARACTERS - end.length) + end;
  }
  return free;
}

/** Eight hexadecimal digits of a text (FNV-1a): the same in every run, so that names can be written down. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
